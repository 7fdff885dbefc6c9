"""Redaction: what must go goes in every dress, what a maintainer needs stays, and peers can still be told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnui_runner.result.redact import Redactor

HF = "hf_" + "aB3" * 11
AWS = "AKIA" + "IOSFODNN7EXAMPLE"


def redactor() -> Redactor:
    return Redactor(host="trn2-bench-07.corp.example.com", home="/home/lena", user="lena")


def clean(text: str) -> str:
    return redactor().clean(text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"HF_TOKEN={HF}", HF),
        (f"token: '{HF}' in the log", HF),
        (f"https://user:{HF}@huggingface.co/x", HF),
        ("git clone https://lena:hunter2secret@host/x", "hunter2secret"),
        (f"aws_access_key_id = {AWS}", AWS),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI"),
        ("Authorization: Bearer abc.def-ghi_jkl", "abc.def-ghi_jkl"),
        ('{"api_key": "s3cr3tvalue"}', "s3cr3tvalue"),
        ("password=correcthorse", "correcthorse"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=deadbeef00&X-Amz-Credential=AKIAX%2F2026", "deadbeef00"),
        ("npm_" + "a1B2" * 9, "npm_a1B2"),
        ("https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/c1c2c3c4c5c6", "B0BBBBBBB"),
        ("key AIza" + "Sy4x" * 9, "AIzaSy4x"),
        ("sk_live_" + "a1B2" * 6, "sk_live_a1"),
        ("pypi-AgEIcHlwaS5vcmc" + "a1B2" * 6, "AgEIcHlw"),
        ("https://a1b2c3d4e5f6@host.example/x.git", "a1b2c3d4e5f6"),
        ("pip install --token s3cr3tvalue x", "s3cr3tvalue"),
        ("curl --password 's3cr3tvalue' x", "s3cr3tvalue"),
        ("X-Auth: s3cr3tvalue", "s3cr3tvalue"),
        ("X-Auth-Token: s3cr3tvalue", "s3cr3tvalue"),
        ("x-api-key: s3cr3tvalue", "s3cr3tvalue"),
        ("Authorization: s3cr3tvalue", "s3cr3tvalue"),
        ("pw=s3cr3tvalue", "s3cr3tvalue"),
        ("db_pw = 's3cr3tvalue'", "s3cr3tvalue"),
        ("PASS=s3cr3tvalue", "s3cr3tvalue"),
        ("DB_PASS=s3cr3tvalue", "s3cr3tvalue"),
        ("PASSPHRASE=s3cr3tvalue", "s3cr3tvalue"),
        ("pwd: s3cr3tvalue", "s3cr3tvalue"),
        ("private_key: s3cr3tvalue", "s3cr3tvalue"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s5d8hFwB0", "eyJhbGci"),
        ("ghp_" + "a1B2" * 9, "ghp_a1B2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("arn:aws:iam::123456789012:role/x", "123456789012"),
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com/img", "123456789012"),
        ("Account: 123456789012", "123456789012"),
        ("s3://sagemaker-us-east-1-123456789012/x", "123456789012"),
        ("instance i-0abc1234def567890 in subnet-0a1b2c3d", "i-0abc1234def567890"),
        ("on trn2-bench-07: failed", "trn2-bench-07"),
        ("trn2-bench-07.corp.example.com", "bench"),
        ("ip-10-0-3-17.ec2.internal said", "10-0-3-17"),
        ("ec2-54-1-2-3.compute-1.amazonaws.com", "54-1-2-3"),
        ("File /home/lena/work/run.py", "lena"),
        ("File /home/someone/run.py", "someone"),
        ("/Users/bob/x and /root/.cache", "bob"),
        ("user lena started", "lena"),
        ("mail lena.b@example.com", "example.com"),
        ("connect to 10.0.3.17:41000", "10.0.3.17"),
        ("peer 54.2.3.4 closed", "54.2.3.4"),
        ("MASTER_ADDR=8.8.4.4", "8.8.4.4"),
        ("http://9.9.9.9/x", "9.9.9.9"),
        ("listening on [fe80::1c2d:3e4f]:80", "fe80::1c2d"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8"),
        ("ether 0a:1b:2c:3d:4e:5f", "0a:1b:2c"),
    ],
)
def test_taken_out(text: str, secret: str) -> None:
    assert secret not in clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "neuronx-cc 2.28.7631.0+6f180f47, torch-neuronx 2.14.3.0, runtime 2.35.30.0",
        "torch-neuronx==2.14.3.0 and driver 2.31.7.0",
        "NRT version 2.34.10.0",
        "memory_size 103079215104 bytes, 25769803776 a core",
        "127.0.0.1:29500 and 0.0.0.0",
        "2026-11-30 12:34:56.789012 INFO",
        "max_new_tokens=32 pad_token='<|endoftext|>' eos_token_id: 151645",
        "tokenizer: Qwen2TokenizerFast, token_type_ids: None",
        "NCC_EVRF029 at line 12 in /opt/aws/neuron/lib/libnrt.so.1",
        "key= abcdef0123456789abcdef0123456789",
        "SHA-256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "NEURON_CC_FLAGS=--model-type transformer -O1",
        "https://pip.repos.neuron.amazonaws.com",
        "acme/tiny at main, tensor([1, 2]) std::vector at::Tensor",
        "HF_TOKEN=None, token: null",
        "result: PASS (CPU), bypass=disabled, pass: 12 of 14",
        "--tokenizer acme/tiny --max-new-tokens 32 --author someone",
        "compass=northwest, PWM=enabled, authors: someone else",
    ],
)
def test_kept(text: str) -> None:
    assert clean(text) == text


def test_the_same_peer_keeps_its_name_and_another_gets_another() -> None:
    one = redactor()
    shown = one.clean("10.0.0.5:1 joined; 10.0.0.6:1 joined; 10.0.0.5:1 left")
    assert shown == "<ip-1>:1 joined; <ip-2>:1 joined; <ip-1>:1 left"
    assert one.words == "2 ips"


def test_home_and_host_of_an_ordinary_name_are_left_to_reading() -> None:
    plain = Redactor(host="localhost", home="/", user="root")
    assert plain.clean("root of the tree / localhost") == "root of the tree / localhost"
    assert plain.clean("/root/.cache/x") == "~/.cache/x"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_any_text_passes_and_twice_is_once(text: str) -> None:
    once = clean(text)
    assert clean(once) == once


def test_a_long_log_takes_no_time() -> None:
    import time

    text = ("2026-11-30 12:00:00 INFO rank 0: step 12 of 32, token=abcdefgh " + "x" * 120 + "\n") * 2000
    began = time.monotonic()
    clean(text)
    clean("a" * 200_000)
    clean(":" * 50_000 + "1." * 50_000)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", ["-----BEGIN PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----"])
def test_a_private_key_goes_whole_even_where_the_text_ends_within_it(name: str) -> None:
    assert clean(f"before {name}\nMIIEow\nabcd") == "before <token-1>"


def test_this_machines_home_is_a_tilde_and_longer_names_stay() -> None:
    here = Redactor(home="/data/people/lena/", host="")
    assert here.clean("open /data/people/lena/x and /data/people/lenard/x") == "open ~/x and /data/people/lenard/x"
    assert Redactor(home="/").clean("open /etc/x") == "open /etc/x"


@pytest.mark.parametrize("name", ["root", "ubuntu", "ec2-user", "python", "Nobody"])
def test_names_that_everybody_has_stay(name: str) -> None:
    assert Redactor(host=name, user=name).clean(f"run by {name} at {name}") == f"run by {name} at {name}"


def test_names_of_two_letters_stay_and_of_three_go() -> None:
    assert Redactor(host="ab", user="ab").clean("ab of ab") == "ab of ab"
    assert Redactor(host="abc").clean("abc.def abc") == "<host-1>.def <host-1>"
    assert Redactor(user="abc").clean("made by abc") == "made by <user-1>"


@pytest.mark.parametrize("value", ["none", "Null", "true", "FALSE", "unset", "missing", "<token>", "12345678"])
def test_values_that_are_no_secret_stay(value: str) -> None:
    assert clean(f"password: {value}") == f"password: {value}"


@pytest.mark.parametrize(
    "name", ["pad_token", "tokenizer", "token_ids", "chat_tokens", "max_new_tokens", "image_token", "sep_token"]
)
def test_a_tokenizers_tokens_are_no_secrets(name: str) -> None:
    assert clean(f"{name} = something") == f"{name} = something"


def test_counts_in_words() -> None:
    found = redactor()
    found.clean(f"{HF} at 10.1.2.3 and 10.1.2.4, MAC 0a:1b:2c:3d:4e:5f")
    assert found.words == "1 address, 2 ips, 1 token"
    assert redactor().words == ""
    two = redactor()
    two.clean("0a:1b:2c:3d:4e:5f 0a:1b:2c:3d:4e:60")
    assert two.words == "2 addresses"


def test_this_hosts_names_are_taken_from_the_environment() -> None:
    assert Redactor.of_this_host({"HOME": "/h", "LOGNAME": "lena"}).user == "lena"
    assert Redactor.of_this_host({"USER": "ada", "LOGNAME": "lena"}).user == "ada"
    found = Redactor.of_this_host({})
    assert (found.home, found.user) == ("", "")


@pytest.mark.parametrize(
    ("text", "kept"),
    [("peer 10.0.0.7:62182", False), ("10.0.0.7", False), ("from 2.14.3.0", False), ("version 2.14.3.0", True), ("2.14.3.0:29500", False),
     ("9.1.2.3", True), ("127.0.0.1:29500", True), ("0.0.0.0", True), ("::1", True), ("fe80::1", False), ("a::b::c", True)],
)  # fmt: skip
def test_addresses_and_versions_are_told_apart(text: str, kept: bool) -> None:
    assert (clean(text) == text) == kept
