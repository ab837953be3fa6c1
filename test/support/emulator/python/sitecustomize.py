"""Python runs this before ministack: it adds dynamodb:LeadingKeys, the partition keys that a request names, and
dynamodb:Attributes, the columns that a read names. AWS judges policies by both, and ministack does not set them: without
them each condition on partition keys would hold, and none on the columns of a read."""
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


def columns_of(request):
    """Nothing for a read of all columns."""
    named = request.get("ExpressionAttributeNames", {})
    columns = [name.strip() for name in request.get("ProjectionExpression", "").split(",") if name.strip()]
    return [named.get(name, name) for name in columns] + list(request.get("Key", {})) if columns else []


def with_keys(body):
    request = json.loads(body or b"{}")
    keys = [key for one in singles(request) for key in keys_of(one)]
    columns = columns_of(request)
    return {
        **without_keys(body),
        **({"dynamodb:LeadingKeys": keys} if keys else {}),
        **({"dynamodb:Attributes": columns} if columns else {}),
    }


iam_actions.dynamodb_service_context = with_keys
