"""Translators that compute in full precision: the CPU engine takes int8 for weights stored in it."""

from dataclasses import replace

from dhyan.decoding.translator import Translator


def in_pytorch(translator: Translator) -> Translator:
    """The same translator without the CPU engine."""
    return replace(translator, fast=False)
