"""Every attribute, event, span and metric name that spanseal writes or reads, and their fixed words. Imports nothing.

``gen_ai.*`` follows the OpenTelemetry GenAI semantic conventions at commit 6fd0d763 (2026-10-09, status
Development); what they do not cover is ``spanseal.*``, on the same spans. No other module spells a name.
"""

from __future__ import annotations

from typing import Final

SEMCONV_COMMIT: Final = "6fd0d763"

# --- gen_ai: common -------------------------------------------------------------------------------------------------
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

OP_CHAT: Final = "chat"
OP_EMBEDDINGS: Final = "embeddings"
OP_TEXT_COMPLETION: Final = "text_completion"
OP_GENERATE_CONTENT: Final = "generate_content"
OP_INVOKE_AGENT: Final = "invoke_agent"
OP_EXECUTE_TOOL: Final = "execute_tool"

PROVIDER_AZURE_OPENAI: Final = "azure.ai.openai"
AGENT_PREFIXES: Final = ("gen_ai.", "spanseal.")
"""What an attribute of an agent's span begins with, ours or another framework's."""

# --- words of error.type that are ours; the others are HTTP statuses and names of exceptions ----------------
ERROR_OTHER: Final = "_OTHER"
ERROR_HALTED: Final = "halted"
ERROR_STEP_LIMIT: Final = "step_limit"
ERROR_VERIFICATION_FAILED: Final = "verification_failed"
ERROR_MALFORMED_RESPONSE: Final = "malformed_response"
ERROR_UNKNOWN_TOOL: Final = "unknown_tool"
ERROR_INVALID_ARGUMENTS: Final = "invalid_arguments"

# --- resource and scope of our spans ----------------------------------------------------------------------------------
SERVICE_NAME: Final = "service.name"
SERVICE_INSTANCE_ID: Final = "service.instance.id"
DISTRO_NAME: Final = "telemetry.distro.name"
DISTRO_VERSION: Final = "telemetry.distro.version"
SCOPE_NAME: Final = "spanseal"
SCHEMA_URL: Final = "urn:spanseal:schema:1"
"""Ours, and no ``https://opentelemetry.io/schemas/…``: no release describes the pinned names, and a schema processor
would rename what an older one claims to be."""

# --- gen_ai: request and response -----------------------------------------------------------------------------------
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_TOP_K: Final = "gen_ai.request.top_k"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
REQUEST_CHOICE_COUNT: Final = "gen_ai.request.choice.count"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_REASONING_LEVEL: Final = "gen_ai.request.reasoning.level"
REQUEST_PREVIOUS_RESPONSE_ID: Final = "gen_ai.request.previous_response.id"
REQUEST_ENCODING_FORMATS: Final = "gen_ai.request.encoding_formats"
EMBEDDINGS_DIMENSION_COUNT: Final = "gen_ai.embeddings.dimension.count"
CONVERSATION_COMPACTED: Final = "gen_ai.conversation.compacted"
PROMPT_NAME: Final = "gen_ai.prompt.name"
PROMPT_VERSION: Final = "gen_ai.prompt.version"
OUTPUT_TYPE: Final = "gen_ai.output.type"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_STATUS: Final = "gen_ai.response.status"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
USAGE_CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_TEXT_INPUT_TOKENS: Final = "gen_ai.usage.text.input_tokens"
USAGE_TEXT_OUTPUT_TOKENS: Final = "gen_ai.usage.text.output_tokens"
USAGE_IMAGE_INPUT_TOKENS: Final = "gen_ai.usage.image.input_tokens"
USAGE_IMAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.image.output_tokens"
USAGE_AUDIO_INPUT_TOKENS: Final = "gen_ai.usage.audio.input_tokens"
USAGE_AUDIO_OUTPUT_TOKENS: Final = "gen_ai.usage.audio.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
OPENAI_API_TYPE: Final = "openai.api.type"
OPENAI_REQUEST_SERVICE_TIER: Final = "openai.request.service_tier"
OPENAI_RESPONSE_SERVICE_TIER: Final = "openai.response.service_tier"
OPENAI_RESPONSE_SYSTEM_FINGERPRINT: Final = "openai.response.system_fingerprint"

# --- gen_ai: agent, tool, evaluation --------------------------------------------------------------------------------
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_DESCRIPTION: Final = "gen_ai.agent.description"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"
EVENT_OPERATION_EXCEPTION: Final = "gen_ai.client.operation.exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EVENT_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# --- spanseal: ledger (DESIGN 5 and 10.1-10.3), stamped on every span of a run --------------------------------------
RUN_ID: Final = "spanseal.run.id"
WRITER_ID: Final = "spanseal.writer.id"
SEQ: Final = "spanseal.seq"
SAMPLED: Final = "spanseal.sampled"
MANIFEST: Final = "spanseal.manifest"
OPEN: Final = "spanseal.open"
GAP_SPANS: Final = "spanseal.gap.spans"
"""How many spans could be kept nowhere, on a span of the name SPAN_GAP that lasts from the first loss to the last."""
GAP_REASONS: Final = "spanseal.gap.reasons"
GAP_RUN_IDS: Final = "spanseal.gap.run.ids"
"""The first hundred runs that lost spans."""

# --- spanseal: run root and steps -----------------------------------------------------------------------------------
RUN_OUTCOME: Final = "spanseal.run.outcome"
RUN_STOP_REASON: Final = "spanseal.run.stop_reason"
RUN_PARENT_ID: Final = "spanseal.run.parent_id"
STEP_NUMBER: Final = "spanseal.step.number"
STATE_DIGEST: Final = "spanseal.state.digest"
USAGE_ESTIMATED_INPUT_TOKENS: Final = "spanseal.usage.estimated.input_tokens"
"""Our estimate for the calls of which the provider told no counts; ``gen_ai.usage.*`` never holds it."""
USAGE_ESTIMATED_OUTPUT_TOKENS: Final = "spanseal.usage.estimated.output_tokens"

# --- spanseal: control ----------------------------------------------------------------------------------------------
CONTROL_SEAM: Final = "spanseal.control.seam"
CONTROL_DECISION: Final = "spanseal.control.decision"
CONTROL_POLICY: Final = "spanseal.control.policy"
CONTROL_REASON: Final = "spanseal.control.reason"
CONTROL_MODIFICATIONS: Final = "spanseal.control.modifications"
CONTROL_ACTION: Final = "spanseal.control.action"
CONTROL_ACTION_DIGEST: Final = "spanseal.control.action.sha256"
EVENT_POLICY_RESULT: Final = "spanseal.policy.result"
POLICY_NAME: Final = "spanseal.policy.name"
POLICY_DECISION: Final = "spanseal.policy.decision"
POLICY_REASON: Final = "spanseal.policy.reason"
POLICY_ROUND: Final = "spanseal.policy.round"

# --- spanseal: verification -----------------------------------------------------------------------------------------
VERIFICATION_PIPELINE: Final = "spanseal.verification.pipeline"
VERIFICATION_INPUT: Final = "spanseal.verification.input"
"""The text that was verified; told by size and salted digest only, since the model call has it."""
VERIFICATION_PASSED: Final = "spanseal.verification.passed"
VERIFICATION_CHECKS_RUN: Final = "spanseal.verification.checks_run"
VERIFICATION_CHECKS_FAILED: Final = "spanseal.verification.checks_failed"
CHECK_SEVERITY: Final = "spanseal.check.severity"

# --- spanseal: tools ------------------------------------------------------------------------------------------------
TOOL_FAULT: Final = "spanseal.tool.fault"
TOOL_ATTEMPTS: Final = "spanseal.tool.attempts"
TOOL_IDEMPOTENCY_KEY: Final = "spanseal.tool.idempotency_key"

# --- spanseal: replay record of a model call ------------------------------------------------------------------------
LLM_ATTEMPT: Final = "spanseal.llm.attempt"
LLM_FORMAT: Final = "spanseal.llm.format"
LLM_REQUEST_PARAMS: Final = "spanseal.llm.request.params"
LLM_REQUEST_BODY: Final = "spanseal.llm.request.body"
LLM_REQUEST_SHA256: Final = "spanseal.llm.request.sha256"
LLM_REQUEST_BYTES: Final = "spanseal.llm.request.bytes"
LLM_REQUEST_MESSAGES: Final = "spanseal.llm.request.message_count"
LLM_REQUEST_DIGEST: Final = "spanseal.llm.request.digest"
"""A salted digest of the bytes sent, where a plain one would give content away (capture off, or content redacted)."""
LLM_REQUEST_REDACTED: Final = "spanseal.llm.request.redacted"
"""True where something was masked in what is recorded of the request: it cannot be rebuilt exactly."""
LLM_RESPONSE_DIGEST: Final = "spanseal.llm.response.digest"
LLM_RESPONSE_BODY: Final = "spanseal.llm.response.body"
LLM_RESPONSE_BYTES: Final = "spanseal.llm.response.bytes"
LLM_STREAM_END: Final = "spanseal.llm.stream.end"
LLM_STREAM_CHUNKS: Final = "spanseal.llm.stream.chunks"
STREAM_COMPLETE: Final = "complete"
"""The words of ``spanseal.llm.stream.end``: the whole answer was read, up to its end mark."""
STREAM_PARTIAL: Final = "partial"
"""The program closed it early, or was cancelled."""
STREAM_FAILED: Final = "failed"
"""The provider or the wire broke it."""
STREAM_ABANDONED: Final = "abandoned"
"""The program dropped it without closing it."""
STREAM_HELD: Final = "held"
"""The program neither read nor closed nor dropped it until the watchdog came or the process ended."""
LLM_RESPONSE_TAIL: Final = "spanseal.llm.response.tail"
"""Hexadecimal: the last bytes of an answer that was cut within a character; they are in no text of the record."""
LLM_RESPONSE_UNRECORDED: Final = "spanseal.llm.response.unrecorded"
"""Why an answer that came is not recorded, in words."""
LLM_SAME_CALL: Final = "spanseal.llm.same_call"
"""The id of another instrumentation's span, around ours or beside it, of the very same call: count one of the two."""
EVENT_HTTP_ATTEMPT: Final = "spanseal.http.attempt"
HTTP_ATTEMPT_NUMBER: Final = "spanseal.http.attempt.number"
HTTP_STATUS: Final = "http.response.status_code"
EVENT_PARAMETER_RULE: Final = "spanseal.llm.parameter_rule"
PARAMETER_NAME: Final = "spanseal.llm.parameter.name"
PARAMETER_SENT_AS: Final = "spanseal.llm.parameter.sent_as"
HISTORY_BASE: Final = "spanseal.history.base"
"""The id of the span whose first messages come before the ones recorded here; absent or empty: all are here."""
HISTORY_KEPT: Final = "spanseal.history.kept"
CAPTURE_MODE: Final = "spanseal.capture"
OMITTED: Final = "spanseal.omitted"
"""The one key of the JSON object that stands for a value over the size policy."""
VALUE_SHA256: Final = "spanseal.value.sha256"
"""On a value span: of the whole value, as it is recorded (UTF-8)."""
VALUE_BYTES: Final = "spanseal.value.bytes"
VALUE_PART: Final = "spanseal.value.part"
"""Which part of the value the span holds, from 1."""
VALUE_PARTS: Final = "spanseal.value.parts"
VALUE_TEXT: Final = "spanseal.value.text"
BYTES_OF: Final = "spanseal.bytes."
"""With the name of a content attribute behind it: the size of the value that is not recorded."""
DIGEST_OF: Final = "spanseal.digest."
"""With the name of a content attribute behind it: the salted digest of the value that is not recorded."""
TOOL_NAME_UNKNOWN: Final = ERROR_OTHER
"""Stands for a tool's name that the model invented, which is content."""

# --- span names -----------------------------------------------------------------------------------------------------
SPAN_STEP: Final = "step"
SPAN_CONTROL: Final = "control {seam}"
SPAN_VERIFICATION: Final = "verification {pipeline}"
SPAN_APPROVAL: Final = "approval"
SPAN_MANIFEST: Final = "spanseal.manifest"
SPAN_VALUE: Final = "spanseal.value"
SPAN_GAP: Final = "spanseal.gap"
SPAN_STREAM_REST: Final = "spanseal.stream.rest"
"""What a program read of a stream after the watchdog had ended the call's span, to which it links."""
SPAN_PROBE: Final = "spanseal.probe"

# --- metrics (names of the pinned conventions) ----------------------------------------------------------------------
METRIC_INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
METRIC_TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.inference.time_to_first_chunk"
METRIC_TIME_PER_OUTPUT_CHUNK: Final = "gen_ai.client.inference.time_per_output_chunk"
METRIC_INPUT_TOKENS: Final = "gen_ai.client.inference.usage.input_tokens"
METRIC_OUTPUT_TOKENS: Final = "gen_ai.client.inference.usage.output_tokens"
METRIC_CACHE_READ_TOKENS: Final = "gen_ai.client.inference.usage.cache_read.input_tokens"
METRIC_CACHE_WRITE_TOKENS: Final = "gen_ai.client.inference.usage.cache_write.input_tokens"
METRIC_REASONING_TOKENS: Final = "gen_ai.client.inference.usage.reasoning.output_tokens"
METRIC_INPUT_TOKENS_EACH: Final = "gen_ai.client.inference.operation.input_tokens"
METRIC_OUTPUT_TOKENS_EACH: Final = "gen_ai.client.inference.operation.output_tokens"
METRIC_OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
"""Of client operations that are no inference (embeddings); before the pin, of all."""
METRIC_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
METRIC_AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
METRIC_AGENT_INFERENCE_CALLS: Final = "gen_ai.invoke_agent.inference_calls"
METRIC_AGENT_TOOL_CALLS: Final = "gen_ai.invoke_agent.tool_calls"
TOKEN_MODALITY: Final = "gen_ai.token.modality"  # noqa: S105 - a name, no secret
MODALITY_UNKNOWN: Final = "unknown"
METRIC_TOKEN_USAGE_BEFORE: Final = "gen_ai.client.token.usage"  # noqa: S105 - likewise
"""Removed at the pin; emitted beside the others when ``OTEL_SEMCONV_STABILITY_OPT_IN`` holds OPT_IN_BEFORE_TOO."""
TOKEN_TYPE_BEFORE: Final = "gen_ai.token.type"  # noqa: S105 - likewise
OPT_IN_BEFORE_TOO: Final = "gen_ai/dup"
INFERENCE_OPERATIONS: Final = frozenset({OP_CHAT, OP_TEXT_COMPLETION, OP_GENERATE_CONTENT})

# --- what tells a model call, in the conventions, OpenInference's and OpenLLMetry's words ----------------------------
MODEL_CALL_WORDS: Final = {
    OPERATION_NAME: INFERENCE_OPERATIONS | {OP_EMBEDDINGS},
    "openinference.span.kind": frozenset({"LLM", "EMBEDDING"}),
    "llm.request.type": frozenset({"chat", "completion", "embedding"}),
}

# --- what the audit store may keep readable (DESIGN 10.6); every other value is a private slice ----------------------
CLEAR_KEYS: Final[frozenset[str]] = frozenset({
    OPERATION_NAME, PROVIDER_NAME, ERROR_TYPE, REQUEST_MODEL, RESPONSE_MODEL, RESPONSE_FINISH_REASONS,
    REQUEST_STREAM, REQUEST_MAX_TOKENS, USAGE_INPUT_TOKENS, USAGE_OUTPUT_TOKENS, USAGE_REASONING_TOKENS,
    USAGE_CACHE_READ_TOKENS, USAGE_CACHE_WRITE_TOKENS, USAGE_ESTIMATED_INPUT_TOKENS, USAGE_ESTIMATED_OUTPUT_TOKENS,
    AGENT_NAME, TOOL_NAME, TOOL_TYPE,
    EVALUATION_NAME, EVALUATION_SCORE_LABEL,
    RUN_ID, WRITER_ID, SEQ, SAMPLED, MANIFEST, OPEN, GAP_SPANS, GAP_REASONS, GAP_RUN_IDS,
    RUN_OUTCOME, RUN_PARENT_ID, STEP_NUMBER,
    CONTROL_SEAM, CONTROL_DECISION, CONTROL_POLICY, POLICY_NAME, POLICY_DECISION, POLICY_ROUND,
    VERIFICATION_PIPELINE, VERIFICATION_PASSED, VERIFICATION_CHECKS_RUN, VERIFICATION_CHECKS_FAILED, CHECK_SEVERITY,
    TOOL_FAULT, TOOL_ATTEMPTS, LLM_ATTEMPT, LLM_FORMAT, LLM_STREAM_END, LLM_STREAM_CHUNKS, LLM_RESPONSE_UNRECORDED,
    LLM_SAME_CALL,
    HTTP_ATTEMPT_NUMBER, HTTP_STATUS, CAPTURE_MODE, VALUE_PART, VALUE_PARTS, PARAMETER_NAME, PARAMETER_SENT_AS,
})

MACHINE_KEYS: Final[frozenset[str]] = frozenset({
    RUN_ID, WRITER_ID, SEQ, MANIFEST, RUN_PARENT_ID, HISTORY_BASE, HISTORY_KEPT, STATE_DIGEST, CONTROL_ACTION_DIGEST,
    TOOL_IDEMPOTENCY_KEY, LLM_REQUEST_SHA256, LLM_REQUEST_DIGEST, LLM_RESPONSE_DIGEST, VALUE_SHA256, VALUE_BYTES,
    VALUE_PART, VALUE_PARTS, VALUE_TEXT,
})
"""Attributes of which nothing may be masked at export: ids and digests that we made, parts of what was masked."""

CONTENT_DIGESTS: Final[frozenset[str]] = frozenset({STATE_DIGEST, CONTROL_ACTION_DIGEST, TOOL_IDEMPOTENCY_KEY})
"""Plain digests over what was said and done: where something of that is masked, short secrets could be guessed."""

WORD_KEYS: Final[frozenset[str]] = frozenset({
    OPERATION_NAME, RUN_OUTCOME, CONTROL_SEAM, CONTROL_DECISION, POLICY_DECISION, EVALUATION_SCORE_LABEL, TOOL_TYPE,
    TOOL_FAULT, CHECK_SEVERITY, LLM_FORMAT, LLM_STREAM_END, CAPTURE_MODE,
})
"""Attributes of our spans with words of ours: a detector that has no use for them must not make a run unreadable."""
WORDS: Final[frozenset[str]] = frozenset({
    SPAN_STEP, SPAN_APPROVAL, SPAN_MANIFEST, SPAN_VALUE, SPAN_GAP, SPAN_STREAM_REST, SPAN_PROBE,
    EVENT_EVALUATION_RESULT, EVENT_POLICY_RESULT, EVENT_HTTP_ATTEMPT, EVENT_PARAMETER_RULE, EVENT_INFERENCE_DETAILS,
    EVENT_OPERATION_EXCEPTION,
})
"""Names of our spans and events in which nothing of anybody else stands."""
