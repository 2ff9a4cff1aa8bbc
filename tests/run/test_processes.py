"""Joining the processes of torchrun: their devices, and the end of one that hangs."""

import subprocess

import pytest
import torch

from dhyan.errors import UserError
from dhyan.run import processes
from dhyan.run.processes import hang_watchdog, join_processes, local_device
from dhyan.training.data_parallel import DataParallel, bit_sum
from tests.fork_server import forked_python
from tests.tiny_models import environment

CPU, CUDA = torch.device("cpu"), torch.device("cuda")

HANG = """
import time
from dhyan.run.processes import hang_watchdog

def wait_in_vain():
    time.sleep(600)

steps = iter(range(3))
with hang_watchdog(lambda: next(steps, 3), 0.5):
    wait_in_vain()
"""


def test_a_process_that_hangs_ends_with_the_stack_of_its_threads():
    words = forked_python("-c", HANG)
    ended = subprocess.run(
        words, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 1
    assert "Timeout (0:00:00.500000)!" in ended.stderr
    assert "wait_in_vain" in ended.stderr


def test_a_process_with_progress_or_without_a_limit_is_left_alone():
    for seconds in (60.0, 0.0):
        with hang_watchdog(lambda: 1, seconds):
            pass


def test_a_process_started_without_torchrun_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join_processes(CPU) == DataParallel(0, 1, None)
    assert local_device(CUDA) == CUDA


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert local_device(CUDA) == torch.device("cuda:1")
    assert chosen == [torch.device("cuda:1")]
    assert local_device(CPU) == CPU
    with pytest.raises(
        UserError, match="device cuda:0 is one GPU, and there are 2 processes: give"
    ):
        local_device(torch.device("cuda:0"))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    with pytest.raises(UserError, match="3 processes, and 2 GPUs here: start 2, one for each, or"):
        local_device(CUDA)
    assert processes.processes_of_host() == 3


def test_a_bit_changes_the_sum_of_bits():
    tensors = [torch.randn(3, 4), torch.zeros(0), torch.tensor(2.0), torch.tensor([True, False])]
    before = bit_sum(tensors)
    assert before == bit_sum([tensor.clone() for tensor in tensors])
    tensors[0].view(torch.int32)[1, 2] ^= 1
    assert bit_sum(tensors) != before
    assert bit_sum([]) == 0
