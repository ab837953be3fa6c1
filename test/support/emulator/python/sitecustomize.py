"""Python runs this before ministack: it adds dynamodb:LeadingKeys, the partition keys that a request names. AWS judges
policies by it, and ministack does not set it: without it each condition on partition keys would hold."""
import json
import re

from ministack.core import iam_actions

without_keys = iam_actions.dynamodb_service_context


def singles(request):
    """Each part of a request that names a table."""
    yield request
    for item in request.get("TransactItems", []):
        yield from item.values()
    for table, entries in request.get("RequestItems", {}).items():
        if isinstance(entries, dict):
            yield from ({"TableName": table, "Key": key} for key in entries["Keys"])
        else:
            yield from ({"TableName": table, **part} for entry in entries for part in entry.values())


def keys_of(one):
    from ministack.services.dynamodb import _tables

    table = _tables.get(one.get("TableName", "").split("/")[-1], {})
    index = next((i for i in table.get("GlobalSecondaryIndexes", []) if i["IndexName"] == one.get("IndexName")), table)
    names = [part["AttributeName"] for part in index.get("KeySchema", []) if part["KeyType"] == "HASH"]
    named, values = one.get("ExpressionAttributeNames", {}), one.get("ExpressionAttributeValues", {})
    equal = re.findall(r"([#\w]+)\s*=\s*(:\w+)", one.get("KeyConditionExpression", ""))
    given = [one.get("Key", {}), one.get("Item", {}), {named.get(name, name): values[value] for name, value in equal}]
    return [next(iter(item[name].values())) for item in given for name in names if name in item]


def with_keys(body):
    keys = [key for one in singles(json.loads(body or b"{}")) for key in keys_of(one)]
    return {**without_keys(body), **({"dynamodb:LeadingKeys": keys} if keys else {})}


iam_actions.dynamodb_service_context = with_keys
