"""The disks of mounts: what changed there becomes revisions, and revisions are written there."""
