"""What people and models wrote, made fit for an attribute: any value as JSON text, secrets masked, size bounded.

``attributes`` sets content on spans: as text (``plain``, ``to_json``, ``masked_json``, ``split_values``), bounded
(``values``), or, with capture off, only as ``digests``; what is masked says the folder ``redaction``. May import
genai's names, records, ``active``, and where spans are made for large values ``spans``.
"""
