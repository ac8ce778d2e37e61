"""How a run and its parent span come along wherever the work goes. DESIGN 10.1.

Bound by hand (``bind``); into threads (``thread_callbacks``, beside the official threading instrumentation), other
processes (``process_pools``, with what is ``carried``), generators (``bound_generator``), other hosts
(``trace_state``). May import active, the ledger's state, guard and patches.
"""
