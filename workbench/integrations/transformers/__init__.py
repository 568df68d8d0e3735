"""Models of Hugging Face's transformers on these kernels.

    import workbench.integrations.transformers as hk
    model = LlamaForCausalLM._from_config(config, attn_implementation="hipkittens", dtype=torch.bfloat16)
    print(hk.use(model))    # which modules were replaced, and which were left and why

Importing this registers attention with transformers' own AttentionInterface, masks with its
AttentionMaskInterface, both as "hipkittens". Written for transformers 5.
"""

from __future__ import annotations

from importlib.util import find_spec

from workbench.integrations.transformers.attention import NAME as NAME
from workbench.integrations.transformers.attention import attention as attention
from workbench.integrations.transformers.attention import register
from workbench.integrations.transformers.use import use as use
from workbench.integrations.used import Used as Used

if find_spec("transformers") is not None:
    register()
