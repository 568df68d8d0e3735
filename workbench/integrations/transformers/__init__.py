"""Models of Hugging Face's transformers on these kernels.

    import workbench.integrations.transformers as hk
    model = LlamaForCausalLM._from_config(config, attn_implementation="hipkittens", dtype=torch.bfloat16)
    print(hk.use(model))    # which modules were replaced, and which were left and why

Importing this registers attention with transformers' own AttentionInterface, masks with its
AttentionMaskInterface, both as "hipkittens". Written for transformers 5.
"""

from __future__ import annotations

try:
    import transformers as library
except ImportError as error:
    from workbench.errors import UsageError

    raise UsageError(
        f"workbench.integrations.transformers: transformers cannot be imported ({error}); expected "
        "version 5: pip install 'transformers>=5'"
    ) from error

from workbench.integrations.transformers.attention import NAME as NAME
from workbench.integrations.transformers.attention import attention as attention
from workbench.integrations.transformers.attention import register
from workbench.integrations.transformers.use import use as use
from workbench.integrations.used import Used as Used

register(library)
