"""The audit store: a C2SP tlog-tiles log of spans whose content can be erased while every seal still verifies.

``tlog`` holds the pure maths and formats, ``leaf`` / ``segment`` / ``commitments`` the bytes of this log, ``store`` the
only writer (``store_*`` its parts), ``verify`` (``verify_*``) and ``read`` the readers; ``trust``, ``pins``, ``heads``,
``belief`` a verifier's side, ``audit_store`` what users open. May import ``records`` and below, of ``genai`` only
the names.
"""
