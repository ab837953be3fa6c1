"""Reads what TypeScript writes, with Python's own libraries and bleach: one JSON document in, one out."""
import email
import email.policy
import html
import json
import sys
from datetime import datetime, timezone
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.utils import getaddresses
from zoneinfo import ZoneInfo


def defects_of(message):
    found = [d for part in message.walk() for d in part.defects]
    found += [d for part in message.walk() for value in part.values() for d in getattr(value, "defects", ())]
    return [repr(d) for d in found]


def mail(source):
    """A mail as a reader's program takes it apart."""
    message = email.message_from_bytes(source.encode("ascii"), policy=email.policy.default)
    parts = [p for p in message.walk() if not p.is_multipart()]
    addresses = lambda name: [[a.display_name, a.addr_spec] for a in message[name].addresses] if message[name] else []
    return {
        "type": message.get_content_type(),
        "from": addresses("From"),
        "to": addresses("To"),
        "subject": str(message["Subject"]),
        "unsubscribe": message["List-Unsubscribe"],
        "one_click": message["List-Unsubscribe-Post"],
        "longest_line": max(len(line) for line in source.split("\r\n")),
        "parts": [
            {"type": p.get_content_type(), "charset": p.get_content_charset(), "content": p.get_content()} for p in parts
        ],
        "attachments": len(list(message.iter_attachments())),
        "defects": defects_of(message),
    }


def sender(header):
    """The one mailbox of a From header."""
    message = email.message_from_string(f"From: {header}\r\n\r\n", policy=email.policy.default)
    # Not by `addresses`, which keeps the blanks between encoded words, against RFC 2047, 6.2.
    read = [[str(make_header(decode_header(name))), spec] for name, spec in getaddresses([header])]
    return {"read": read, "defects": defects_of(message)}


def address(text):
    """The address where it is one, in RFC 5322's form."""
    try:
        return Address(addr_spec=text).addr_spec
    except Exception:
        return None


def moment(case):
    """When clocks show the time for the first time; where they never do, as if they had not been changed."""
    try:
        time = datetime.fromisoformat(case["text"])
        if time.tzinfo is None:
            time = time.replace(tzinfo=ZoneInfo(case["zone"]), fold=0)
        return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return None


def links(text):
    """What bleach makes a link of."""
    from bleach.linkifier import Linker

    found = []
    note = lambda attrs, new=False: found.append(html.unescape(attrs[(None, "href")])) or attrs
    Linker(callbacks=[note]).linkify(html.escape(text, quote=False))
    return found


ASKED = {"mails": mail, "senders": sender, "addresses": address, "moments": moment, "texts": links}
print(json.dumps({name: [ASKED[name](one) for one in asked] for name, asked in json.load(sys.stdin).items()}))
