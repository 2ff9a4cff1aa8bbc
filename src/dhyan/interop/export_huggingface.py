"""Export Transformers as folders of Hugging Face's `transformers`.

A recipe becomes the first architecture that computes the same: Marian for layer norm after each
sub-layer with sinusoids, Pegasus for layer norm before it with sinusoids, Blenderbot for layer norm
before it with other positions. All three have a bias of the output layer. Source and target have one
table of embeddings there, so the rows of the target follow those of the source.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from safetensors.torch import save
from torch import Tensor

from dhyan import atomic_folder
from dhyan.checkpoint import weights_from_bytes
from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder
from dhyan.errors import UserError
from dhyan.interop.exported_card import write_card
from dhyan.interop.huggingface import ACTIVATIONS as THEIR_ACTIVATIONS
from dhyan.interop.huggingface import BIAS, LAYER_PARTS, LM_HEAD, SHARED, SIDES
from dhyan.interop.joint_tokenizer import joint_tokenizer
from dhyan.interop.unusual_settings import unusual_settings
from dhyan.interop.write_model import check_out
from dhyan.model_check import CheckedModel, read_model
from dhyan.models.build import build_model
from dhyan.models.positions import NoPositions, Positions, Sinusoids
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import TransformerDecoder as DecoderModule
from dhyan.models.transformer import TransformerEncoder as EncoderModule
from dhyan.run.load import load_codecs, load_weights
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.sentencepiece import KIND as SENTENCEPIECE
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.tokenizer import Tokenizer

LAYOUTS = ("interleaved", "halves")  # of sinusoids: theirs are halves
ACTIVATIONS = {ours: theirs for theirs, ours in THEIR_ACTIVATIONS.items()}
THEIR_PARTS = {ours: theirs for theirs, ours in LAYER_PARTS.items()}
NEVER = -1e4  # the logit of a source token: a probability of 0, also in half precision
LEAST_POSITIONS = 1024  # of sinusoids, which have no end
LONGEST_OUTPUT = 256  # tokens, where the recipe sets no maximum length
INSTEAD = "ONNX has: --to onnx"


class Architecture(NamedTuple):
    """The type of its configuration, its class, and whether it computes positions by itself."""

    model_type: str
    model_class: str
    sinusoids: bool


MARIAN = Architecture("marian", "MarianMTModel", True)
PEGASUS = Architecture("pegasus", "PegasusForConditionalGeneration", True)
BLENDERBOT = Architecture("blenderbot", "BlenderbotForConditionalGeneration", False)


def export_huggingface(model: str | Path, out: Path) -> Architecture:
    """Write the folder of a Transformer, complete or not at all."""
    check_out(out)
    checked = read_model(model)
    for setting, value in _unsupported(checked.recipe):
        raise UserError(f"{checked.name}: transformers has no {setting} = {value}; {INSTEAD}")
    architecture = choose_architecture(checked)
    source, target = load_codecs(checked.files)
    if not isinstance(source, Tokenizer):
        raise UserError(f"{checked.name}: reads {source.kind}, which no translator there does")
    recipe = checked.recipe
    shared = recipe.decoder.share_source_embedding
    if architecture is MARIAN and {source.kind, target.kind} == {SENTENCEPIECE}:
        first, tokenizers = 0, _marian_tokenizers(checked, source, target, shared=shared)
    else:
        first = 0 if shared else len(source)
        reads_eos = _sections(recipe)[0].reads_eos
        joint = joint_tokenizer(source, target, shared=shared, reads_eos=reads_eos)
        tokenizers = {"tokenizer.json": joint.encode()}
    module = build_model(recipe, len(source), len(target)).eval()
    load_weights(module, weights_from_bytes(checked.files["model.safetensors"]))
    positions = _positions(module, recipe)
    sizes = (first + len(target), None) if first or shared else (len(source), len(target))
    tables = {
        "config.json": _config(recipe, architecture, sizes, first, positions),
        "generation_config.json": _generation(recipe, first, positions),
    }
    if "tokenizer.json" in tokenizers:
        tables["tokenizer_config.json"] = _tokenizer_config(source, positions)
    files = {name: _to_json(table) for name, table in tables.items()} | tokenizers
    with torch.no_grad():
        tensors = _tensors(module, architecture, first=first, positions=positions)
    with atomic_folder.atomic_folder(out) as folder:
        (folder / "model.safetensors").write_bytes(save(tensors, {"format": "pt"}))
        for name, data in files.items():
            (folder / name).write_bytes(data)
        write_card(checked, folder, "huggingface")
    return architecture


def _to_json(table: Any) -> bytes:
    return json.dumps(table, ensure_ascii=False, indent=1).encode()


def _marian_tokenizers(
    checked: CheckedModel, source: Tokenizer, target: Tokenizer, *, shared: bool
) -> dict[str, bytes]:
    """The files of a MarianTokenizer, as an imported model came with them."""
    codes = checked.recipe.data.source_language, checked.recipe.data.target_language
    config = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": codes[0] or None,
        "target_lang": codes[1] or None,
        "separate_vocabs": not shared,
        "unk_token": NAMES[UNK],
        "eos_token": NAMES[EOS],
        "pad_token": NAMES[PAD],
    }
    files = {"tokenizer_config.json": _to_json(config), "vocab.json": _to_json(source.piece_ids())}
    if not shared:
        files["target_vocab.json"] = _to_json(target.piece_ids())
    for side, tokenizer in (("source", source), ("target", target)):
        model = SentencePiece.from_table(json.loads(tokenizer.to_json()))
        files[f"{side}.spm"] = model.to_file().to_bytes()
    return files


def choose_architecture(checked: CheckedModel) -> Architecture:
    """The first architecture that computes what the recipe says."""
    encoder, decoder = _sections(checked.recipe)
    sinusoids = encoder.positions == decoder.positions == "sinusoidal"
    fits = sinusoids and encoder.sinusoids == decoder.sinusoids and encoder.sinusoids in LAYOUTS
    if encoder.norm == "pre":
        return PEGASUS if fits else BLENDERBOT
    if fits:
        return MARIAN
    side, positions = (
        ("decoder", decoder.positions)
        if encoder.positions == "sinusoidal"
        else ("encoder", encoder.positions)
    )
    raise UserError(
        f"{checked.name}: transformers has no {side}.positions = {positions} with "
        f"{side}.norm = post; {INSTEAD}"
    )


def _sections(recipe: Recipe) -> tuple[TransformerEncoder, TransformerDecoder]:
    """Those of a recipe that has no unusual settings."""
    return cast(TransformerEncoder, recipe.encoder), cast(TransformerDecoder, recipe.decoder)


def _unsupported(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """The settings that none of the architectures has."""
    unusual = list(unusual_settings(recipe, ACTIVATIONS))
    yield from unusual
    if unusual:
        return
    for setting in ("width", "norm", "activation", "scale_embedding"):
        ours, other = (getattr(getattr(recipe, side), setting) for side in SIDES)
        if ours != other:
            yield f"decoder.{setting}", f"{other}, where encoder.{setting} = {ours}"


def _positions(module: Seq2Seq, recipe: Recipe) -> int:
    """How many positions a sentence may have: one number for both sides."""
    limits = [module.encoder.max_length, module.decoder.max_length]
    learned = [limit for limit in limits if limit is not None]
    return min(learned, default=max(LEAST_POSITIONS, recipe.decoding.max_source_length + 1))


def _config(
    recipe: Recipe,
    architecture: Architecture,
    sizes: tuple[int, int | None],
    first: int,
    positions: int,
) -> dict[str, Any]:
    """The settings; `sizes` are those of the vocabularies, of one for both the first alone."""
    encoder, decoder = _sections(recipe)
    return {
        "architectures": [architecture.model_class],
        "model_type": architecture.model_type,
        "is_encoder_decoder": True,
        "vocab_size": sizes[0],
        **({} if sizes[1] is None else {"decoder_vocab_size": sizes[1]}),
        "d_model": encoder.width,
        **{
            f"{side}_{theirs}": getattr(section, ours)
            for side, section in (("encoder", encoder), ("decoder", decoder))
            for theirs, ours in (
                ("layers", "layers"),
                ("attention_heads", "heads"),
                ("ffn_dim", "feed_forward_width"),
            )
        },
        "num_hidden_layers": encoder.layers,
        "activation_function": ACTIVATIONS[encoder.activation],
        "dropout": encoder.dropout,
        "attention_dropout": encoder.attention_dropout,
        "activation_dropout": 0.0,
        "max_position_embeddings": positions,
        "scale_embedding": encoder.scale_embedding,
        "tie_word_embeddings": decoder.tie_embeddings,
        "share_encoder_decoder_embeddings": sizes[1] is None,
        **_ids(first),
        "use_cache": True,
        "dtype": "float32",
        "torch_dtype": "float32",
    }


def _ids(first: int) -> dict[str, Any]:
    """The special tokens as ids; those of the target, but for padding."""
    return {
        "pad_token_id": PAD,
        "bos_token_id": first + BOS,
        "decoder_start_token_id": first + BOS,
        "eos_token_id": first + EOS,
        "forced_eos_token_id": None,
    }


def _generation(recipe: Recipe, first: int, positions: int) -> dict[str, Any]:
    """Their search as ours: the same score, and its end when nothing can become better."""
    options = recipe.decoding
    longest = (options.max_length or LONGEST_OUTPUT) + 1
    return {
        **_ids(first),
        "num_beams": options.width,
        "length_penalty": options.length_penalty,
        "early_stopping": False,
        "do_sample": False,
        "max_new_tokens": min(longest, positions - 1),
        "no_repeat_ngram_size": options.no_repeat_ngram,
        "encoder_no_repeat_ngram_size": 0,
        "suppress_tokens": [first + PAD, first + BOS],
    }


def _tokenizer_config(source: Tokenizer, positions: int) -> dict[str, Any]:
    """The tokenizer as it is loaded; texts never spell special tokens."""
    unknown = {} if source.kind in ("words", "characters") else {"unk_token": NAMES[UNK]}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": positions,
        "model_input_names": ["input_ids", "attention_mask"],
        "pad_token": NAMES[PAD],
        "bos_token": NAMES[BOS],
        "eos_token": NAMES[EOS],
        **unknown,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }


def _tensors(
    module: Seq2Seq, architecture: Architecture, *, first: int, positions: int
) -> dict[str, Tensor]:
    """The weights under their names, in their order of dimensions; target ids begin at `first`."""
    ours: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    stacks = {
        "encoder": cast(EncoderModule, module.encoder).embedding,
        "decoder": cast(DecoderModule, module.decoder).embedding,
    }
    tables = {side: ours[f"{side}.embedding.token_embedding.weight"] for side in SIDES}
    tied = ours["decoder.output.weight"] is tables["decoder"]
    if first:
        tables = dict.fromkeys(SIDES, torch.cat([tables["encoder"], tables["decoder"]]))
    tensors = {f"model.{side}.embed_tokens.weight": table for side, table in tables.items()}
    if tables["encoder"] is tables["decoder"]:
        tensors = (tensors if not tied else {}) | {SHARED: tables["decoder"]}
    if not tied:
        tensors[LM_HEAD] = _after_source(ours["decoder.output.weight"], first, 0.0)
    tensors[BIAS] = _after_source(ours["decoder.output.bias"], first, NEVER).unsqueeze(0)
    for name, weight in ours.items():
        if their_name := _their_name(name):
            tensors[their_name] = weight
    for side, embedding in stacks.items():
        table = _position_table(embedding.positions, positions)
        tensors[f"model.{side}.embed_positions.weight"] = table
    sinusoids = stacks["encoder"].positions
    if architecture.sinusoids and cast(Sinusoids, sinusoids).layout == "interleaved":
        width = cast(DecoderModule, module.decoder).width
        order = torch.cat([torch.arange(at, width, 2) for at in (0, 1)])
        tensors = {name: _reordered(name, tensor, order) for name, tensor in tensors.items()}
    return {name: tensor.detach().float().clone() for name, tensor in tensors.items()}


def _after_source(rows: Float[Tensor, "V ..."], added: int, value: float) -> Float[Tensor, "W ..."]:
    """Rows of the target behind those of source tokens, which are never written."""
    return torch.cat([rows.new_full((added, *rows.shape[1:]), value), rows])


def _their_name(name: str) -> str:
    """encoder.layers.0.self_attention.query.weight → model.encoder.layers.0.self_attn.q_proj.weight."""
    match name.split("."):
        case [side, "layers", number, *part, kind]:
            return f"model.{side}.layers.{number}.{THEIR_PARTS['.'.join(part)]}.{kind}"
        case [side, "final_norm", kind]:
            return f"model.{side}.layer_norm.{kind}"
    return ""


def _position_table(positions: Positions, count: int) -> Float[Tensor, "T D"]:
    table = positions(0, count)
    return table.expand(count, -1) if isinstance(positions, NoPositions) else table


def _reordered(name: str, tensor: Tensor, order: Int[Tensor, " D"]) -> Tensor:
    """A weight for vectors whose dimensions are in another order: all sines, then all cosines.

    The sum of a layer's input and output has this order; what lies within a layer keeps its own.
    """
    part = name.rpartition(".")[0].rpartition(".")[2]
    match part, tensor.dim():
        case (("q_proj" | "k_proj" | "v_proj" | "fc1" | "lm_head"), 2):
            return tensor[:, order]
        case (("shared" | "embed_tokens" | "embed_positions"), 2):
            return tensor[:, order]
        case (("out_proj" | "fc2"), _):
            return tensor[order]
        case _, 1 if "norm" in part:
            return tensor[order]
    return tensor
