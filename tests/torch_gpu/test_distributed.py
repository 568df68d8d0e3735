"""`torch.distributed` inside `torch_as_gpu`: the backend of GPU scripts works on the device's tensors."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as distributed

import workbench as wb

pytestmark = pytest.mark.skipif(
    not (distributed.is_available() and distributed.is_gloo_available()), reason="PyTorch has no Gloo"
)


@pytest.mark.parametrize("backend", ["nccl", "cpu:gloo,cuda:nccl"])
def test_collectives_of_one_process(backend: str) -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        distributed.init_process_group(
            backend,
            store=distributed.HashStore(),  # type: ignore[attr-defined]
            rank=0,
            world_size=1,
            device_id=torch.device("cuda", 0),
        )
        try:
            x = torch.arange(4.0, device="cuda")
            gathered, scattered, exchanged = (torch.empty_like(x) for _ in range(3))
            distributed.all_gather_into_tensor(gathered, x)
            distributed.reduce_scatter_tensor(scattered, x)
            distributed.all_to_all_single(exchanged, x)
            distributed.barrier(device_ids=[0])
            for result in (gathered, scattered, exchanged):
                assert torch.equal(result, x)
                assert result.is_cuda
            group = distributed.new_group([0], backend="nccl")
            distributed.all_reduce(x, group=group)
            assert x[3] == 3
        finally:
            distributed.destroy_process_group()
