"""A server of the Model Context Protocol: the operations as tools, pages as resources, tasks as prompts."""
