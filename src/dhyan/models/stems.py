"""Stems: layers that stand where the embedding stands, for a source of frames instead of tokens."""

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Frames
from dhyan.models.embedding import TokenEmbedding
from dhyan.special_tokens import PAD, UNK

WHITE = 255  # the largest value of a pixel


class LinearStem(nn.Module):
    """A linear layer over each frame, as over the patches of ViT (Dosovitskiy et al., 2021)."""

    def __init__(self, frame_width: int, width: int) -> None:
        super().__init__()
        self.embedding_dim = width
        self.projection = nn.Linear(frame_width, width)

    def forward(self, frames: Frames) -> Float[Tensor, "B S D"]:
        """One vector per frame."""
        return self.projection(to_float(frames.values, self.projection.weight.dtype))


class ConvolutionStem(nn.Module):
    """Two convolutions over neighbouring frames (`kernel` frames each), with GELU between."""

    def __init__(self, frame_width: int, width: int, *, kernel: int = 3) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(
                f"a convolution over {kernel} frames has no centre: give an odd number"
            )
        self.embedding_dim = width
        self.first = nn.Conv1d(frame_width, width, kernel, padding=kernel // 2)
        self.second = nn.Conv1d(width, width, kernel, padding=kernel // 2)

    def forward(self, frames: Frames) -> Float[Tensor, "B S D"]:
        """One vector per frame; padding is zero before each convolution."""
        real = frames.mask.unsqueeze(-1)
        values = to_float(frames.values, self.first.weight.dtype) * real
        hidden = functional.gelu(self.first(values.transpose(1, 2))) * real.transpose(1, 2)
        return self.second(hidden).transpose(1, 2)


class StripStem(nn.Module):
    """Two-dimensional convolutions over a picture that comes as strips of its columns.

    A frame holds `height` × columns grey pixels, row by row. The strips are joined to the picture,
    and each convolution halves its height (LeCun et al., 1998; CRNN, Shi et al., 2017); the columns
    of a strip and what is left of the height become one vector.
    """

    def __init__(self, frame_width: int, width: int, *, height: int, channels: int = 32) -> None:
        super().__init__()
        if frame_width % height or height % 8:
            raise ValueError(
                f"frames of {frame_width} pixels are no strips of {height}, a multiple of 8"
            )
        self.embedding_dim = width
        self.height, self.columns = height, frame_width // height
        sizes = (1, channels, 2 * channels, 2 * channels)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1)
            for before, after in zip(sizes, sizes[1:], strict=False)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(1, after) for after in sizes[1:])
        self.projection = nn.Linear(sizes[-1] * (height // 8) * self.columns, width)

    def forward(self, frames: Frames) -> Float[Tensor, "B S D"]:
        """One vector per strip; padding is zero before each convolution."""
        strips = to_float(frames.values, self.projection.weight.dtype)
        count = strips.shape[1]
        picture = strips.unflatten(2, (self.height, self.columns)).permute(0, 2, 1, 3)
        shown = frames.mask.repeat_interleave(self.columns, dim=1)[:, None, None, :]
        picture = picture.flatten(2).unsqueeze(1) * shown
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            hidden = functional.gelu(_norm_shown(norm, convolution(picture), shown)) * shown
            picture = functional.max_pool2d(hidden, (2, 1))
        columns = picture.flatten(1, 2).transpose(1, 2)
        return self.projection(columns.unflatten(1, (count, self.columns)).flatten(2))


def _norm_shown(
    norm: nn.Module, picture: Float[Tensor, "B C H W"], shown: Bool[Tensor, "B 1 1 W"]
) -> Float[Tensor, "B C H W"]:
    """Group norm over the part of the picture that is no padding."""
    assert isinstance(norm, nn.GroupNorm)
    weight = shown.to(picture.dtype)
    count = weight.sum(dim=(1, 2, 3), keepdim=True) * picture.shape[1] * picture.shape[2]
    mean = (picture * weight).sum(dim=(1, 2, 3), keepdim=True) / count
    variance = ((picture - mean) ** 2 * weight).sum(dim=(1, 2, 3), keepdim=True) / count
    normed = (picture - mean) / torch.sqrt(variance + norm.eps)
    return normed * norm.weight[:, None, None] + norm.bias[:, None, None]


class WordCharacterStem(nn.Module):
    """Word embeddings beside a convolution over the characters of each word (Ma and Hovy, 2016).

    A frame holds the id of a word, then those of its characters. In training a word is replaced by
    the unknown one with probability `word_dropout`, so that characters learn to stand for it.
    """

    def __init__(
        self,
        words: int,
        characters: int,
        *,
        width: int,
        character_width: int = 32,
        filters: int = 64,
        word_dropout: float = 0.0,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        self.embedding_dim = width + filters
        self.word_dropout = word_dropout
        self.words = nn.Embedding(words, width, padding_idx=PAD).requires_grad_(not frozen)
        self.characters = nn.Embedding(characters, character_width, padding_idx=PAD)
        self.convolution = nn.Conv1d(character_width, filters, 3, padding=1)

    def forward(self, frames: Frames) -> Float[Tensor, "B S D"]:
        """One vector per word: its embedding, and the maximum of each filter over its characters."""
        ids, characters = frames.values[..., 0].long(), frames.values[..., 1:].long()
        if self.training and self.word_dropout:
            dropped = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = torch.where(dropped & (ids != PAD), UNK, ids)
        letters = self.characters(characters).flatten(0, 1).transpose(1, 2)
        filtered = self.convolution(letters).amax(dim=-1).unflatten(0, ids.shape)
        return torch.cat([self.words(ids), filtered], dim=-1)


Stem = LinearStem | ConvolutionStem | StripStem | WordCharacterStem
SourceEmbedding = TokenEmbedding | Stem
"""What stands between a source and the first layer of an encoder."""


def to_float(frames: Num[Tensor, "B S F"], dtype: torch.dtype) -> Float[Tensor, "B S F"]:
    """Frames as the weights need them; of pixels, white is 0 like padding, and black 1."""
    return 1 - frames.to(dtype) / WHITE if frames.dtype == torch.uint8 else frames.to(dtype)
