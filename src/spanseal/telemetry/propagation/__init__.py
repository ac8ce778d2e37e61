"""How a run and its parent span come along wherever the work goes. DESIGN 10.1.

Into threads (``thread_callbacks``, beside the official threading instrumentation), other processes
(``process_pools``, with what is ``carried``), generators (``bound_generator``), other hosts (``trace_state``). May
import active, the ledger's state, guard, patches and run_context, which itself imports ``carried`` and
``bound_generator``.
"""
