"""The documentation site: the documents of this folder and the reference that is made from the source, as pages.

    python -m docs.site [-o build/site]

Needs the extra ``docs``, and no network: neither to build the pages nor to read them.
"""
