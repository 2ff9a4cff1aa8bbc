"""The file of a codebook, safetensors: its name in a model folder, its limits, and their check."""

from dhyan.safe_io.safetensors_header import Header, InvalidHeader

CODEBOOK_FILE = "codebook.safetensors"
MAX_CODEBOOK_BYTES = 2**24
MAX_MAGNITUDE = 30.0  # of a logarithm
LIMITS = {
    "rate": (1000, 192_000),
    "window": (64, 2**14),
    "hop": (16, 2**14),
    "mels": (1, 1024),
    "top": (100, 96_000),
}
"""The settings of the spectrogram, each a tensor of one number, with the least and the most."""


def check_codebook_header(header: Header) -> None:
    """Refuse a file that has other tensors than a codebook."""
    shapes = {name: (entry.dtype, entry.shape) for name, entry in header.tensors.items()}
    dtype, shape = shapes.pop("entries", ("", ()))
    if shapes != dict.fromkeys(LIMITS, ("I64", (1,))) or dtype != "F32" or len(shape) != 2:
        raise InvalidHeader("a codebook has other tensors")
