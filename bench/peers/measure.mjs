// Runs `total` jobs with `width` of them under way at once, and reports rates, CPU and latencies as one JSON line.
export async function measure(name, total, width, job) {
  const warm = Math.min(width * 2, 64);
  await pool(warm, width, job, []);
  const latencies = [];
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  await pool(total, width, job, latencies);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const used = process.cpuUsage(cpu);
  const cpuSeconds = (used.user + used.system) / 1e6;
  latencies.sort((a, b) => a - b);
  const at = (q) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))];
  console.log(JSON.stringify({
    name, total, width,
    per_second: total / seconds,
    per_cpu_second: total / cpuSeconds,
    p50_ms: at(0.5), p99_ms: at(0.99),
    rss_mb: process.resourceUsage().maxRSS / 1024,
  }));
}

async function pool(total, width, job, latencies) {
  let next = 0;
  const worker = async () => {
    while (next < total) {
      const i = next++;
      const t = process.hrtime.bigint();
      await job(i);
      latencies.push(Number(process.hrtime.bigint() - t) / 1e6);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}
