"""Spanseal makes LLM agents verifiable with OpenTelemetry: watch, check, stop, prove.

Public names load on first use (PEP 562), so that an auditor's import pulls in neither a model client nor the SDK.
"""

from __future__ import annotations

__version__ = "0.1.0"
