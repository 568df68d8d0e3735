"""Runs other libraries' models on these kernels; one module for each library, loaded when you import it.

from workbench.integrations.transformers import use
used = use(model)   # replaces norms, rotary embedding, gated layers, products, attention and loss
used.undo()
"""
