"""CTranslate2 folders of Transformers: model.bin, vocabularies, and perhaps SentencePiece models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dhyan import config
from dhyan.errors import UserError
from dhyan.interop.ctranslate2_file import ModelFile, check_version
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.vocabulary import NONE, Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel
from dhyan.models.positions import Sinusoids
from dhyan.safe_io.json_toml import safe_repr
from dhyan.special_tokens import NAMES
from dhyan.text.safe_tokenizer import MAX_BYTES, decode_file
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer

WEIGHTS = "model.bin"
ARCHITECTURES = ("TransformerSpec", "TransformerBase", "TransformerBig")
HEADS = {"TransformerBase": 8, "TransformerBig": 16}  # of models before heads were stored
ACTIVATIONS = {0: "relu", 2: "silu", 3: "gelu"}
NOT_USED = (  # settings of alignments, and of several embeddings where there is one
    "alignment_heads", "alignment_layer", "embeddings_merge", "alibi_use_positive_positions",
    "scale_alibi",
)  # fmt: skip
MUST_BE_ZERO = ("alibi", "multi_query_attention")
PADDING = ("<blank>", "<pad>")
EPSILON = 1e-5
CLOSE = {torch.float32: 1e-3, torch.float16: 2e-3, torch.bfloat16: 1e-2}  # tables of sinusoids
LEARNING_RATE = 5e-5  # of fine-tuning
SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class Stack:
    """One side of the model: its settings in our recipe, and its weights under our names."""

    settings: dict[str, Any]
    embedding: Tensor
    weights: dict[str, Tensor]
    positions: int | None


def read_ctranslate2(folder: ForeignFolder) -> ImportedModel:
    """The Transformer of a folder; int8 and other quantized weights become float32."""
    settings = folder.settings("config.json")
    try:
        file = ModelFile.from_bytes(folder.read_weights(WEIGHTS, check_version))
        return _import(folder, settings, file)
    except UserError as error:
        if str(folder.path) in str(error):
            raise
        raise UserError(f"{folder.path / WEIGHTS}: {error}") from None


def _import(folder: ForeignFolder, settings: Settings, file: ModelFile) -> ImportedModel:
    if file.architecture not in ARCHITECTURES:
        raise UserError(
            f"is of {safe_repr(file.architecture)}; of CTranslate2, {', '.join(ARCHITECTURES)} "
            f"are imported"
        )
    epsilon = settings.number("layer_norm_epsilon", EPSILON)
    if epsilon != EPSILON:
        raise settings.error("layer_norm_epsilon", f"{EPSILON} is what can be imported")
    if settings.flag("add_source_bos", False):
        raise settings.error("add_source_bos", "sources that begin with BOS cannot be imported")
    from_zero = bool(file.take_number("decoder/start_from_zero_embedding", 0))
    stacks = {side: _stack(file, side) for side in SIDES}
    output = file.take("decoder/projection/weight")
    bias = (
        file.take("decoder/projection/bias")
        if "decoder/projection/bias" in file.variables
        else torch.zeros(len(output))
    )
    if file.variables:
        raise UserError(f"its {safe_repr(min(file.variables))} is not known here")
    tokens = {
        "source": _tokens(folder, "source", len(stacks["encoder"].embedding)),
        "target": _tokens(folder, "target", len(stacks["decoder"].embedding)),
    }
    vocabularies = {
        side: _arrange(folder, settings, tokens[side], side, from_zero=from_zero) for side in tokens
    }
    weights = _weights(stacks, output, bias, vocabularies)
    same_embedding = tokens["source"] == tokens["target"] and torch.equal(
        stacks["encoder"].embedding, stacks["decoder"].embedding
    )
    tied = output.shape == stacks["decoder"].embedding.shape and torch.equal(
        output, stacks["decoder"].embedding
    )
    tokenizers = {side: _tokenizer(folder, side, vocabularies[side]) for side in tokens}
    recipe = _recipe(
        folder,
        stacks,
        vocabularies,
        tokenizer=tokenizers["source"].kind,
        same_embedding=same_embedding,
        tied=tied,
        reads_eos=settings.flag("add_source_eos", False) or from_zero,
    )
    return ImportedModel("ctranslate2", recipe, weights, **tokenizers)


def _stack(file: ModelFile, side: str) -> Stack:
    """An encoder or a decoder, taken from the variables."""
    for name in NOT_USED:
        file.take_number(f"{side}/{name}", 0)
    for name in MUST_BE_ZERO:
        if file.take_number(f"{side}/{name}", 0):
            raise UserError(f"its {side}/{name} is set, which cannot be imported")
    listed = f"{side}/embeddings_0/weight"
    embedding = file.take(listed if listed in file.variables else f"{side}/embeddings/weight")
    if embedding.dim() != 2:
        raise UserError(f"its {side} embedding is of shape {safe_repr(tuple(embedding.shape))}")
    width = embedding.shape[1]
    settings = {
        "width": width,
        "heads": int(file.take_number(f"{side}/num_heads", HEADS.get(file.architecture, 8))),
        "norm": "pre" if file.take_number(f"{side}/pre_norm", 1) else "post",
        "activation": _activation(file, side),
        "scale_embedding": _scales(file, side, width),
    }
    weights, positions = _positions(file, side, width, settings)
    layers = 0
    while f"{side}/layer_{layers}/self_attention/linear_0/weight" in file.variables:
        weights |= _layer(file, side, layers, width)
        layers += 1
    if f"{side}.layers.0.feed_forward.gate.weight" in weights:
        if settings["activation"] != "silu":
            raise UserError(f"its {side} has gates with {settings['activation']}; SiLU is imported")
        settings["activation"] = "swiglu"
    if not layers:
        raise UserError(f"its {side} has no layers")
    settings["layers"] = layers
    settings["feed_forward_width"] = len(weights[f"{side}.layers.0.feed_forward.up.weight"])
    if settings["norm"] == "pre":
        weights |= _norm(file, f"{side}/layer_norm", f"{side}.final_norm")
    return Stack(settings, embedding, weights, positions)


def _activation(file: ModelFile, side: str) -> str:
    number = file.take_number(f"{side}/activation", 0)
    if number not in ACTIVATIONS:
        raise UserError(
            f"its {side}/activation is {number:g}; {', '.join(ACTIVATIONS.values())} are imported"
        )
    return ACTIVATIONS[int(number)]


def _scales(file: ModelFile, side: str, width: int) -> bool:
    """Whether embeddings are scaled by √width: a flag, or the scale itself."""
    name = f"{side}/scale_embeddings"
    whole = name in file.variables and not file.variables[name].is_floating_point()
    scale = file.take_number(name, width**0.5)
    if whole or scale == 1:
        return bool(scale) and whole
    if abs(scale - width**0.5) > 1e-3 * scale:
        raise UserError(f"its {name} is {scale:g}, which is neither 1 nor the root of {width}")
    return True


def _positions(
    file: ModelFile, side: str, width: int, settings: dict[str, Any]
) -> tuple[dict[str, Tensor], int | None]:
    """Sinusoids, whose layout goes into the settings; or a table that was learned, and its size."""
    name = f"{side}/position_encodings/encodings"
    settings["positions"] = "sinusoidal"
    if name not in file.variables:
        settings["sinusoids"] = "tensor2tensor"
        return {}, None
    close = CLOSE.get(file.variables[name].dtype, CLOSE[torch.bfloat16])
    table = file.take(name).squeeze(0)
    if table.dim() != 2 or table.shape[1] != width or len(table) < 3:
        raise UserError(f"its {name} is of shape {safe_repr(tuple(table.shape))}")
    for layout in ("interleaved", "halves", "tensor2tensor", "fairseq"):
        if torch.allclose(table, Sinusoids(width, layout)(0, len(table)), atol=close, rtol=0):
            settings["sinusoids"] = layout
            return {}, None
    if not table.any():
        settings["positions"] = "none"
        return {}, None
    settings["positions"] = "learned"
    return {f"{side}.embedding.positions.table": table}, len(table)


def _layer(file: ModelFile, side: str, number: int, width: int) -> dict[str, Tensor]:
    theirs, ours = f"{side}/layer_{number}", f"{side}.layers.{number}"
    weights = _linears(
        file, f"{theirs}/self_attention/linear_0", f"{ours}.self_attention",
        ("query", "key", "value"), width,
    )  # fmt: skip
    weights |= _linears(
        file, f"{theirs}/self_attention/linear_1", f"{ours}.self_attention", ("output",), width
    )
    norms = {"self_attention": "self_attention_norm", "ffn": "feed_forward_norm"}
    if side == "decoder":
        norms["attention"] = "cross_attention_norm"
        for linear, parts in enumerate((("query",), ("key", "value"), ("output",))):
            name = f"{theirs}/attention/linear_{linear}"
            weights |= _linears(file, name, f"{ours}.cross_attention", parts, width)
    for their_norm, our_norm in norms.items():
        weights |= _norm(file, f"{theirs}/{their_norm}/layer_norm", f"{ours}.{our_norm}")
    gated = f"{theirs}/ffn/linear_0_noact/weight" in file.variables
    network = {"linear_0": "gate" if gated else "up", "linear_1": "down"}
    if gated:
        network["linear_0_noact"] = "up"
    for name, part in network.items():
        weights |= _linears(file, f"{theirs}/ffn/{name}", f"{ours}.feed_forward", (part,), None)
    return weights


def _linears(
    file: ModelFile, name: str, ours: str, parts: Sequence[str], width: int | None
) -> dict[str, Tensor]:
    """Linear layers that are stored as one; each is `width` wide, if that is known."""
    weight = file.take(f"{name}/weight")
    has_bias = f"{name}/bias" in file.variables
    bias = file.take(f"{name}/bias") if has_bias else torch.zeros(len(weight))
    if weight.dim() != 2 or len(bias) != len(weight) or len(weight) % len(parts):
        raise UserError(f"its {name} is of shape {safe_repr(tuple(weight.shape))}")
    if width is not None and weight.shape != (width * len(parts), width):
        raise UserError(
            f"its {name} is of shape {safe_repr(tuple(weight.shape))}, not of {len(parts)} × {width} "
            f"by {width}"
        )
    split = {"weight": weight.chunk(len(parts)), "bias": bias.chunk(len(parts))}
    return {
        f"{ours}.{part}.{kind}": chunks[at]
        for at, part in enumerate(parts)
        for kind, chunks in split.items()
    }


def _norm(file: ModelFile, name: str, ours: str) -> dict[str, Tensor]:
    return {
        f"{ours}.weight": file.take(f"{name}/gamma"),
        f"{ours}.bias": file.take(f"{name}/beta"),
    }


def _tokens(folder: ForeignFolder, side: str, size: int) -> list[str]:
    """The vocabulary of a side; an unknown token may follow that the file does not list."""
    names = [f"{part}_vocabulary.{kind}" for part in (side, "shared") for kind in ("json", "txt")]
    name = next((name for name in names if folder.has(name)), None)
    if name is None:
        raise UserError(f"{folder.path}: has no {names[0]}")
    tokens = folder.lines(name)
    if len(tokens) == size - 1 and "<unk>" not in tokens:
        tokens.append("<unk>")
    if len(tokens) != size:
        raise UserError(
            f"{folder.path / name}: has {len(tokens):,} tokens, and the embedding {size:,} rows"
        )
    return tokens


def _arrange(
    folder: ForeignFolder, settings: Settings, tokens: list[str], side: str, *, from_zero: bool
) -> Vocabulary:
    ids = {token: id for id, token in enumerate(tokens)}
    start = settings.text("decoder_start_token", settings.text("bos_token", "<s>"))
    eos = settings.text("eos_token", "</s>")
    if side == "target" and (eos not in ids or not (from_zero or start in ids)):
        raise UserError(
            f"{folder.path}: the target vocabulary has no {safe_repr(eos)} or {safe_repr(start)}"
        )
    roles = Roles(
        pad=next((ids[token] for token in PADDING if token in ids), NONE),
        bos=NONE if from_zero else ids.get(start, NONE),
        eos=ids.get(eos, NONE),
        unk=ids.get(settings.text("unk_token", "<unk>"), NONE),
    )
    if roles.bos == roles.eos != NONE:
        raise UserError(f"{folder.path}: a model whose decoder starts with EOS cannot be imported")
    return Vocabulary.arrange(tokens, roles, place=f"{folder.path}: {side} vocabulary")


def _weights(
    stacks: dict[str, Stack], output: Tensor, bias: Tensor, vocabularies: dict[str, Vocabulary]
) -> dict[str, Tensor]:
    source, target = vocabularies["source"], vocabularies["target"]
    if len(output) != len(stacks["decoder"].embedding) or len(bias) != len(output):
        raise UserError(f"its output layer is of {len(output):,} tokens, not of its vocabulary")
    return {
        **stacks["encoder"].weights,
        **stacks["decoder"].weights,
        "encoder.embedding.token_embedding.weight": source.rearranged(stacks["encoder"].embedding),
        "decoder.embedding.token_embedding.weight": target.rearranged(stacks["decoder"].embedding),
        "decoder.output.weight": target.rearranged(output),
        "decoder.output.bias": target.output_bias(bias, padding_is_possible=True),
    }


def _recipe(
    folder: ForeignFolder,
    stacks: dict[str, Stack],
    vocabularies: dict[str, Vocabulary],
    *,
    tokenizer: Any,
    same_embedding: bool,
    tied: bool,
    reads_eos: bool,
) -> config.Recipe:
    learned = [stack.positions for stack in stacks.values() if stack.positions is not None]
    if len(set(learned)) > 1:
        raise UserError(f"its tables of positions differ in size: {learned}")
    longest = learned[0] - 2 if learned else 510
    return config.Recipe(
        about=f"A model of CTranslate2, imported from {folder.path.absolute().name}.",
        data=config.Data(max_tokens=longest),
        text=config.Text(
            tokenizer=tokenizer,
            source_vocabulary_size=len(vocabularies["source"].tokens),
            target_vocabulary_size=len(vocabularies["target"].tokens),
            shared_vocabulary=same_embedding,
        ),
        encoder=config.TransformerEncoder(**stacks["encoder"].settings, reads_eos=reads_eos),
        decoder=config.TransformerDecoder(
            **stacks["decoder"].settings,
            tie_embeddings=tied,
            share_source_embedding=same_embedding,
        ),
        training=config.Training(
            learning_rate=LEARNING_RATE, tokens_per_batch=max(4096, longest + 2)
        ),
        decoding=config.DecodingOptions(beam=2),
    )


def _tokenizer(folder: ForeignFolder, side: str, vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer beside the weights, SentencePiece's or ours; else characters, if all are."""
    if folder.has(f"{side}.json"):
        tokenizer = Tokenizer.from_json(
            decode_file(folder.read(f"{side}.json", max_bytes=MAX_BYTES))
        )
        if tuple(tokenizer.piece_ids()) != vocabulary.tokens:
            raise UserError(f"{folder.path / f'{side}.json'}: its tokens are not the model's")
        return tokenizer
    name = f"{side}.spm"
    if folder.has(name):
        file = SentencePieceFile.read(folder.path / name)
        return Tokenizer(SentencePiece.from_file(file, vocabulary.tokens))
    if all(len(token) == 1 for token in vocabulary.tokens[len(NAMES) :]):
        return Tokenizer(SentencePiece.characters(vocabulary.tokens))
    raise UserError(
        f"{folder.path}: does not say how a text is cut into its tokens; put the SentencePiece models "
        f"beside {WEIGHTS}, as source.spm and target.spm"
    )
