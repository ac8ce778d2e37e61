"""What a run looks like in spans: shared by those who write them and those who read them. Pure values, no I/O.

``otlp`` (export lines), ``ledger`` (numbering, manifests), ``replay_record`` and ``replay_read`` (the bytes of a
model's call), ``history`` and ``history_read`` (calls as what is new in them), ``export_files`` (names of files). May
import genai and errors.
"""
