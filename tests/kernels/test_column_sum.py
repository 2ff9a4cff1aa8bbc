"""Sums down columns equal torch's."""

import pytest
import torch


@pytest.mark.parametrize("sizes", [(1, 1), (33, 5), (70, 129), (3, 200)])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_columns_are_summed_in_single_precision(sizes, kind):
    from dhyan.kernels.triton.column_sum import column_sums

    numbers = torch.randn(*sizes).to(kind)
    result = column_sums(numbers)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, numbers.float().sum(dim=0))


def test_a_slice_of_columns_is_summed_without_a_copy():
    from dhyan.kernels.triton.column_sum import column_sums

    numbers = torch.randn(40, 12)[:, 3:8]
    torch.testing.assert_close(column_sums(numbers), numbers.sum(dim=0))
