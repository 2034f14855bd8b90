// Sample data for the parts. Times are fixed, so that pictures stay the same.
export const now = Date.parse("2026-11-21T12:00:00Z");

export const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script> &amp; \u202egnp.exe\u2066 \u200binvisible \u001b[31mred\u001b[0m \u0007 tail";

export const diff = `diff --git a/deploy/prod.yaml b/deploy/prod.yaml
index 3b18e51..a7c9d02 100644
--- a/deploy/prod.yaml
+++ b/deploy/prod.yaml
@@ -1,16 +1,17 @@
 service: billing
 image: registry/billing
-tag: 2026.11.3
+tag: 2026.11.4
 replicas: 3
 resources:
   cpu: 500m
   memory: 512Mi
 health:
   path: /healthz
   period: 10s
   timeout: 2s
   retries: 3
 env:
   LOG_LEVEL: info
+  RETRY: "on"
 ports:
   - 8080
--- /dev/null
+++ b/deploy/NOTES.md
@@ -0,0 +1,2 @@
+Rolled out by hand.
+See the ticket.
\\ No newline at end of file
`;

export const run = { id: "run_7", title: "Fix the billing rounding", tool: "claude", cwd: "/srv/work/billing", host_id: "studio" };
export const machine = { id: "studio", name: "studio" };
