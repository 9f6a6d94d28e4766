-- From version 3 to 4: what attackers of the third version found.

DROP VIEW v_crawl_health;

CREATE VIEW v_crawl_health AS
SELECT s.name AS source, count(t.id) AS targets,
       sum(t.crawl_status = 'active') AS active, sum(t.crawl_status = 'degraded') AS degraded,
       sum(t.crawl_status = 'paused') AS paused, sum(t.crawl_status = 'failed') AS failed,
       (SELECT count(*) FROM targets_available a WHERE a.source_id = s.id) AS due_now,
       sum(t.consecutive_failures > 0) AS with_failures, round(avg(t.consecutive_failures), 2) AS mean_consecutive_failures,
       count(*) FILTER (WHERE t.last_success_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')) AS successful_24h
FROM sources s JOIN targets t ON t.source_id = s.id GROUP BY s.id;
