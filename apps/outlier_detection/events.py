"""What flows through outlier detection. Times are in milliseconds."""

from __future__ import annotations

from actorstream import Event

CATEGORICAL = (
    *("protocol_type", "service", "flag", "land"),
    *("logged_in", "is_host_login", "is_guest_login"),
)


class Connection(Event, event_time="ts_ms"):
    """A connection with the 41 features of KDD Cup 99 and its label."""

    row: int
    """Its number in the file, from 0: what streams are told apart by."""
    ts_ms: int
    duration: float
    protocol_type: str
    service: str
    flag: str
    src_bytes: float
    dst_bytes: float
    land: str
    wrong_fragment: float
    urgent: float
    hot: float
    num_failed_logins: float
    logged_in: str
    num_compromised: float
    root_shell: float
    su_attempted: float
    num_root: float
    num_file_creations: float
    num_shells: float
    num_access_files: float
    num_outbound_cmds: float
    is_host_login: str
    is_guest_login: str
    count: float
    srv_count: float
    serror_rate: float
    srv_serror_rate: float
    rerror_rate: float
    srv_rerror_rate: float
    same_srv_rate: float
    diff_srv_rate: float
    srv_diff_host_rate: float
    dst_host_count: float
    dst_host_srv_count: float
    dst_host_same_srv_rate: float
    dst_host_diff_srv_rate: float
    dst_host_same_src_port_rate: float
    dst_host_srv_diff_host_rate: float
    dst_host_serror_rate: float
    dst_host_srv_serror_rate: float
    dst_host_rerror_rate: float
    dst_host_srv_rerror_rate: float
    label: str


class Check(Event, event_time="ts"):
    """Asks for the outliers so far."""

    ts: int


class Outlier(Event):
    """A connection that the joined model finds unusual as well, and how much."""

    ts_ms: int
    score: float
