"""Makes the events of an auction house: people who register, the auctions they open, and bids on these.

Of 50 events one is a person, three are auctions and 46 are bids, in the shapes and distributions of the Nexmark
benchmark. They are written as JSON, a line each, into files of which each is a partition, or as messages into a topic
of Kafka. The same arguments make the same events.

  generate.py                                    100,000 events in data/events, 4 partitions
  generate.py --events 5000 --rate 100           50 seconds of a small house
  generate.py --topic nexmark --bootstrap-servers 127.0.0.1:9092
"""

import argparse
import heapq
import itertools
import json
import random
import string
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

DATA = Path(__file__).parent / "data"

PEOPLE, AUCTIONS, BIDS = 1, 3, 46
ROUND = PEOPLE + AUCTIONS + BIDS
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
ACTIVE_PEOPLE, OPEN_AUCTIONS = 1000, 100
AHEAD = 10
"""Ids are drawn from a few that do not exist yet, too: an event may come before what it names."""
HOT_EVERY = 100
"""One auction and one person of so many are hot."""
COLD_AUCTIONS, COLD_SELLERS, COLD_BIDDERS, COLD_CHANNELS = 2, 4, 4, 2
"""One of so many events takes any auction, seller, bidder or channel, the others a hot one."""
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
PERSON_SIZE, AUCTION_SIZE, BID_SIZE, NUMBER_SIZE = 200, 500, 100, 8

GIVEN = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
FAMILY = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
PLACES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

Event = dict[str, Any]


@dataclass
class House:
    """The auction house: makes event after event."""

    seed: int
    rate: int
    """Events a second."""
    start: datetime
    spread: bool = False
    """Bids of anybody on anything so far, none of them hot: nearly each is the first of its bidder on its auction."""
    _random: random.Random = field(init=False)
    _links: dict[int, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311
        self._hot_links = [self._link() for _ in HOT_CHANNELS]

    def events(self, count: int) -> Iterator[tuple[int, Event]]:
        """Yield events in the order of their times, with these in milliseconds since the start."""
        for number in range(count):
            place = number % ROUND
            event: Event = {"event_type": 0, "person": None, "auction": None, "bid": None}
            if place < PEOPLE:
                event["person"] = self._person(number)
            elif place < PEOPLE + AUCTIONS:
                event |= {"event_type": 1, "auction": self._auction(number)}
            else:
                event |= {"event_type": 2, "bid": self._bid(number)}
            yield self._after(number), event

    def _person(self, number: int) -> Event:
        person: Event = {
            "id": FIRST_ID + people_before(number),
            "name": f"{self._one_of(GIVEN)} {self._one_of(FAMILY)}",
            "emailAddress": f"{self._text(7)}@{self._text(5)}.com",
            "creditCard": " ".join(f"{self._random.randrange(10_000):04}" for _ in range(4)),
            "city": self._one_of(PLACES),
            "state": self._one_of(STATES),
            "dateTime": self._time(self._after(number)),
        }
        size = NUMBER_SIZE + sum(len(person[name]) for name in ("name", "emailAddress", "creditCard", "city", "state"))
        return person | {"extra": self._filling(PERSON_SIZE, size)}

    def _auction(self, number: int) -> Event:
        seller = self._hot(people_before(number)) if self._mostly(COLD_SELLERS) else self._some_person(number)
        first_bid = self._price()
        opens = self._after(number)
        # About so many auctions are open at a time, however fast events come.
        lasts = 1 + self._random.randrange(
            max(2 * (self._after(number + OPEN_AUCTIONS * ROUND // AUCTIONS) - opens), 1)
        )
        auction: Event = {
            "id": FIRST_ID + auctions_before(number),
            "itemName": self._text(20),
            "description": self._text(100),
            "initialBid": first_bid,
            "reserve": first_bid + self._price(),
            "dateTime": self._time(opens),
            "expires": self._time(opens + lasts),
            "seller": FIRST_ID + seller,
            "category": FIRST_CATEGORY + self._random.randrange(CATEGORIES),
        }
        size = NUMBER_SIZE * 6 + len(auction["itemName"]) + len(auction["description"])
        return auction | {"extra": self._filling(AUCTION_SIZE, size)}

    def _bid(self, number: int) -> Event:
        auction, bidder = self._of_all(number) if self.spread else self._of_active(number)
        channel, link = self._channel()
        bid = {
            "auction": FIRST_ID + auction,
            "bidder": FIRST_ID + bidder,
            "price": self._price(),
            "channel": channel,
            "url": link,
            "dateTime": self._time(self._after(number)),
        }
        return bid | {"extra": self._filling(BID_SIZE, NUMBER_SIZE * 4)}

    def _of_active(self, number: int) -> tuple[int, int]:
        """Draw an auction and a bidder: mostly hot ones, else any of those that are active now."""
        newest = auctions_before(number) - 1
        auction = self._hot(newest) if self._mostly(COLD_AUCTIONS) else self._some_auction(newest)
        bidder = self._hot(people_before(number)) + 1 if self._mostly(COLD_BIDDERS) else self._some_person(number)
        return auction, bidder

    def _of_all(self, number: int) -> tuple[int, int]:
        """Draw an auction and a bidder of all that there are."""
        return self._random.randrange(auctions_before(number)), self._random.randrange(people_before(number) + 1)

    def _channel(self) -> tuple[str, str]:
        if self._mostly(COLD_CHANNELS):
            hot = self._random.randrange(len(HOT_CHANNELS))
            return HOT_CHANNELS[hot], self._hot_links[hot]
        number = self._random.randrange(CHANNELS)
        if number not in self._links:
            named = self._random.randrange(10) > 0
            self._links[number] = self._link() + (f"&channel_id={_reversed_bits(number)}" if named else "")
        return f"channel-{number}", self._links[number]

    def _link(self) -> str:
        return f"https://www.nexmark.com/{'/'.join(self._text(5, '_') for _ in range(3))}/item.htm?query=1"

    def _some_person(self, number: int) -> int:
        """Draw one of the newest people, or of those that are about to come."""
        people = people_before(number) + 1
        active = min(people, ACTIVE_PEOPLE)
        return people - active + self._random.randrange(active + AHEAD)

    def _some_auction(self, newest: int) -> int:
        oldest = max(newest - OPEN_AUCTIONS, 0)
        return oldest + self._random.randrange(max(newest - oldest, 0) + 1 + AHEAD)

    @staticmethod
    def _hot(newest: int) -> int:
        return max(newest, 0) // HOT_EVERY * HOT_EVERY

    def _mostly(self, one_of: int) -> bool:
        return self._random.randrange(one_of) > 0

    def _price(self) -> int:
        """Draw cents, as many of 1 to 10 as of 100,000 to 1,000,000."""
        return round(10 ** (6 * self._random.random()) * 100)

    def _text(self, longest: int, between: str = " ") -> str:
        length = 3 + self._random.randrange(longest - 3)
        return "".join(
            between if self._random.randrange(13) == 0 else self._one_of(string.ascii_lowercase) for _ in range(length)
        ).strip()

    def _filling(self, average: int, size: int) -> str:
        """Make a text that brings an event of this size to the average, give or take a fifth of what was missing."""
        missing = average - size
        if missing <= 0:
            return ""
        spread = round(missing * 0.2)
        length = missing - spread + (self._random.randrange(2 * spread) if spread else 0)
        return "".join(self._random.choices(string.ascii_lowercase, k=length))

    def _one_of(self, values: str | tuple[str, ...]) -> str:
        return self._random.choice(values)

    def _after(self, number: int) -> int:
        return number * 1000 // self.rate

    def _time(self, milliseconds: int) -> str:
        return (self.start + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")[:23] + "Z"


def people_before(number: int) -> int:
    """Return how many people there are before the round of an event."""
    return number // ROUND * PEOPLE


def auctions_before(number: int) -> int:
    """Return how many auctions there are before an event."""
    rounds, place = divmod(number, ROUND)
    return rounds * AUCTIONS + min(max(place - PEOPLE, 0), AUCTIONS)


def disordered(events: Iterable[tuple[int, Event]], most: int, seed: int) -> Iterator[Event]:
    """Yield events in the order of their arrival: each comes up to so many milliseconds after its time."""
    delays = random.Random(f"delays {seed}")  # noqa: S311
    waiting: list[tuple[int, int, Event]] = []
    for number, (time, event) in enumerate(events):
        while waiting and waiting[0][0] <= time:
            yield heapq.heappop(waiting)[2]
        heapq.heappush(waiting, (time + delays.randint(0, most), number, event))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _reversed_bits(number: int) -> int:
    return int(f"{number:032b}"[::-1], 2) & 0x7FFF_FFFF


def make(*, events: int, seed: int, rate: int, start: datetime, disorder: int, spread: bool = False) -> Iterator[bytes]:
    """Yield the events as lines of JSON, without line breaks, in the order of their arrival."""
    for event in disordered(House(seed, rate, start, spread).events(events), disorder, seed):
        yield json.dumps(event, separators=(",", ":")).encode()


def write_files(folder: Path, lines: Iterable[bytes], partitions: int) -> None:
    """Write lines into a file for each partition, one after the other, and the side input of q13."""
    (folder / "events").mkdir(parents=True, exist_ok=True)
    for old in (folder / "events").glob("*.jsonl"):
        old.unlink()
    files = [(folder / "events" / f"{number}.jsonl").open("wb") for number in range(partitions)]
    for line, file in zip(lines, itertools.cycle(files), strict=False):
        file.write(line + b"\n")
    for file in files:
        file.close()
    side = "".join(json.dumps({"key": key, "value": f"value {key}"}) + "\n" for key in range(10_000))
    (folder / "side.jsonl").write_text(side, encoding="utf-8")


def write_topic(bootstrap_servers: str, topic: str, lines: Iterable[bytes], partitions: int) -> None:
    """Make a topic that must not exist yet, and write lines into its partitions in turn; messages have no key."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    admin.list_topics(timeout=10)  # says sooner than other requests that there is no broker
    admin.create_topics([NewTopic(topic, partitions)])[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 50, "log_level": 2})
    for line, partition in zip(lines, itertools.cycle(range(partitions)), strict=False):
        while True:
            try:
                producer.produce(topic, line, partition=partition)
                break
            except BufferError:  # the queue is full
                producer.poll(1)
    producer.flush()


def main() -> None:
    """Make events and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=10_000, help="events a second")
    parser.add_argument("--start", type=datetime.fromisoformat, default="2024-03-01T00:00:00Z", help="the first time")
    parser.add_argument("--disorder", type=int, default=4000, help="milliseconds by which events may come late")
    parser.add_argument("--spread", action="store_true", help="bids of anybody on anything: state grows with each")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=DATA, help="default: data, beside this file")
    parser.add_argument("--topic", help="a topic of Kafka, in place of files")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    given = parser.parse_args()
    start = given.start.astimezone(UTC) if given.start.tzinfo else given.start.replace(tzinfo=UTC)
    kinds = {"start": start, "disorder": given.disorder, "spread": given.spread}
    lines = make(events=given.events, seed=given.seed, rate=given.rate, **kinds)
    if given.topic is None:
        write_files(given.folder, lines, given.partitions)
        return
    try:
        write_topic(given.bootstrap_servers, given.topic, lines, given.partitions)
    except KafkaException as error:
        sys.exit(f"{given.bootstrap_servers}: {error.args[0].str()}; `make kafka PORT=9092` starts a broker here")


if __name__ == "__main__":
    main()
