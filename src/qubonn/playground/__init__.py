"""The page that ``qubonn playground`` opens, and what it does, repeated in Python."""

from qubonn.playground.replay import Replay, images_with_two_flips, replay

__all__ = ["Replay", "images_with_two_flips", "replay"]
