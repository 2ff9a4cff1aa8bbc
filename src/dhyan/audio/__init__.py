"""Sounds: mel spectrograms, Griffin and Lim's inverse, WAV files, and codebooks of frames."""

from dhyan.audio.codebook import CODEBOOK_FILE as CODEBOOK_FILE
from dhyan.audio.codebook import Codebook as Codebook
from dhyan.audio.codebook import Waveform as Waveform
from dhyan.audio.codebook import find_codebook as find_codebook
from dhyan.audio.codebook import waveform as waveform
from dhyan.audio.spectrogram import SpectrogramSettings as SpectrogramSettings
from dhyan.audio.spectrogram import griffin_lim as griffin_lim
from dhyan.audio.spectrogram import log_mel as log_mel
from dhyan.audio.spectrogram import magnitudes as magnitudes
from dhyan.audio.spectrogram import mel_filters as mel_filters
from dhyan.audio.wav import envelope as envelope
from dhyan.audio.wav import from_wav_bytes as from_wav_bytes
from dhyan.audio.wav import read_wav as read_wav
from dhyan.audio.wav import to_wav_bytes as to_wav_bytes
