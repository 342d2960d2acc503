-- What is kept no longer may be deleted, by the sweep of retention and nobody else.
SET LOCAL lock_timeout = '10s';
GRANT DELETE ON run, run_log, run_span, artifact, late_evidence, evidence_text, run_intake TO signalbox_system;
