-- PostgreSQL keys journals and logs by their invocation from here on. In SQLite rows lie in the order of their keys, and a
-- count of their own is what costs least, so nothing changes: both databases only go on with the same number.
SELECT 1;
