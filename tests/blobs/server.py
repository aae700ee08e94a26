"""An S3 server in memory, on a free port, with a bucket. Prints its address."""

import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

import boto3

server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
address = f"http://127.0.0.1:{server.server_port}"


def main() -> None:
    import threading

    threading.Thread(target=server.serve_forever, daemon=True).start()
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    s3 = boto3.client("s3", endpoint_url=address, **keys)
    s3.create_bucket(Bucket="hoard")
    print(address, flush=True)
    # Each line lists the objects and the uploads that have not ended, until the input ends.
    for _ in sys.stdin:
        objects = [one["Key"] for one in s3.list_objects_v2(Bucket="hoard").get("Contents", [])]
        uploads = [one["Key"] for one in s3.list_multipart_uploads(Bucket="hoard").get("Uploads", [])]
        print(" ".join([*objects, *(f"upload:{key}" for key in uploads)]), flush=True)


main()
