import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from dhyan.data.permutation import Permutation

SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 65537]


def order(size, *key):
    return Permutation(size, key).permute(np.arange(size))


@pytest.mark.parametrize("size", [*SIZES, 1_000_003])
def test_a_permutation_is_a_bijection(size):
    for epoch in range(3 if size < 10**6 else 1):
        assert np.array_equal(np.bincount(order(size, 1, epoch), minlength=size), np.ones(size))


def test_every_key_gives_another_order():
    keys = [(0, 0), (0, 1), (1, 0), (1, 1), (-1, 0), (0,), (0, 0, 0), (2**63, 0)]
    distinct_orders = {order(100, *key).tobytes() for key in keys}
    assert len(distinct_orders) == len(keys)


def test_an_index_maps_the_same_alone_or_in_a_batch():
    permutation = Permutation(10**10, (3, 1))
    indices = np.array([0, 5, 9_999_999_999, 5])
    alone = [permutation.permute(indices[i : i + 1])[0] for i in range(4)]
    assert permutation.permute(indices).tolist() == alone
    assert len(permutation.permute(indices[:0])) == 0


def test_the_order_is_the_same_in_another_process():
    expected = order(10, 7, 2).tolist()
    code = (
        "import numpy as np; from dhyan.data.permutation import Permutation;"
        "print(Permutation(10, (7, 2)).permute(np.arange(10)).tolist())"
    )
    path = {"PYTHONPATH": "src", "PYTHONHASHSEED": "99"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=path, capture_output=True, check=True
    )
    assert process.stdout.decode().strip() == str(expected)


@pytest.mark.parametrize("size", [3, 10, 33, 100])
def test_images_are_uniformly_distributed(size):
    keys = 500
    hits = np.zeros((size, size))
    for epoch in range(keys):
        hits[np.arange(size), order(size, 5, epoch)] += 1
    expected = keys / size
    chi_square = ((hits - expected) ** 2 / expected).sum() / (size - 1) ** 2
    assert chi_square < 1 + 4 * (2 / (size - 1) ** 2) ** 0.5  # chi-square within four deviations


def test_neighbours_are_uncorrelated():
    images = order(1_000_003, 1, 0)
    assert abs(np.corrcoef(images, np.arange(len(images)))[0, 1]) < 0.005
    assert abs(np.corrcoef(images[1:], images[:-1])[0, 1]) < 0.005
    assert (np.abs(np.diff(images)) == 1).sum() < 20


def test_memory_does_not_grow_with_the_size():
    tracemalloc.start()
    try:
        images = Permutation(10**10, (1, 0)).permute(np.arange(10**10 - 1000, 10**10))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(images.tolist())) == 1000
    assert images.min() >= 0
    assert images.max() < 10**10
    assert peak < 1_000_000


def test_an_index_out_of_range_is_refused():
    with pytest.raises(ValueError, match="size is 0"):
        Permutation(0, (1,))
    for index in (-1, 10):
        with pytest.raises(ValueError, match="between 0 and 9"):
            Permutation(10, (1,)).permute(np.array([3, index]))
