"""Other libraries' models on these kernels; a module for each, imported when it is asked for.

from workbench.integrations.transformers import use
used = use(model)   # norms, rotary embedding, gated layers, products, attention, loss; a table of them
used.undo()
"""
