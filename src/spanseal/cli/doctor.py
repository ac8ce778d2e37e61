"""``spanseal doctor``: what is captured, masked, sampled, exported, to where; tests the route; names what loses spans.

May import the doctor and, for its output, what the reading commands share.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spanseal.errors import UsageError

if TYPE_CHECKING:
    from spanseal.doctor.finding import Finding

_YAML: Final = (".yaml", ".yml")


def doctor(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            help="Configuration files of a collector (laid over each other), a folder, a store, or a URL to export to; "
            "nothing: this environment.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A spanseal.toml, as configure(config=…).")] = None,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Do not send or write a probe span.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document: verdict, facts, findings.")] = False,
) -> int:
    """Say what would be recorded and where it goes, test the route, and name what would lose evidence, with the fix.

    Exit code 0: nothing bad was found; 1: something was.
    """
    from spanseal.doctor.finding import by_weight

    given = targets or []
    files = [Path(target) for target in given if target.endswith(_YAML)]
    if files:
        if len(files) < len(given):
            raise UsageError("give either configuration files of a collector, or one folder, store or URL")
        facts, findings = _collector(files)
    else:
        if len(given) > 1:
            raise UsageError("give one folder, store or URL")
        facts, findings = _environment(given[0] if given else None, config, probe=not no_probe)
    ordered = by_weight(findings)
    bad = any(found.weight == "bad" for found in ordered)
    if as_json:
        told = [found.to_json() for found in ordered]
        typer.echo(json.dumps({"verdict": "bad" if bad else "ok", "facts": facts, "findings": told}, indent=2))
    else:
        _print(facts, ordered)
    return 1 if bad else 0


def _collector(files: list[Path]) -> tuple[dict[str, str], list[Finding]]:
    from spanseal.doctor.collector_file import read_collector
    from spanseal.doctor.evidence_routes import evidence_routes
    from spanseal.doctor.pipeline_rules import collector_findings

    collector = read_collector(files)
    facts = {route.pipeline: f"evidence to {', '.join(route.exporters)}" for route in evidence_routes(collector)}
    return facts, list(collector_findings(collector))


def _environment(target: str | None, config: Path | None, *, probe: bool) -> tuple[dict[str, str], list[Finding]]:
    from spanseal.audit.store_names import is_store
    from spanseal.doctor import process
    from spanseal.doctor.places import place_findings, spool_findings
    from spanseal.doctor.probe import probe as try_route
    from spanseal.doctor.zero_code import zero_code_findings

    if target is not None and "://" not in target:
        place = Path(target)
        if is_store(place):
            return {}, list(place_findings(place))
        if not place.is_dir():
            raise UsageError(f"{target}: no such folder; give a folder of spans, a store, a URL or a collector's YAML")
    here = process.this_process(target, config)
    findings = [*here.findings(), *zero_code_findings()]
    if here.plan.folder is not None:
        findings += place_findings(here.plan.folder)
    findings += spool_findings(here.spool)
    if probe:
        findings.append(try_route(here))
    return here.facts(), findings


def _print(facts: dict[str, str], findings: list[Finding]) -> None:
    from spanseal.cli.reading import Output

    width = max(map(len, facts), default=0)
    out = Output(sys.stdout)
    lines = [f"{name:<{width}}  {words}" for name, words in facts.items()]
    if facts and findings:
        lines.append("")
    for found in findings:
        lines.append(f"{found.weight:<4}  {found.code}  {found.where}")
        lines.append(f"      {found.meaning}")
        if found.fix:
            lines.append(f"      fix: {found.fix}")
    if not findings:
        lines.append("nothing was found that would lose evidence")
    for line in lines:
        out.say(line)
