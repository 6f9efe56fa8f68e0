"""Embedded videos for tests: four skills, eight classes, two seconds, so that clips differ."""

from lit_video.datamodules import TemporalSkills
from lit_video.video.sampling import Dense

SKILLS = ("drift", "zoom", "rotation", "meeting")  # visible in any four frames
VIDEOS = dict(skills=SKILLS, length=16, difficulty=0.25, test_difficulty=0.25, pairs=(2, 1, 1))
CLIPS = dict(num_frames=4, image_size=16, batch_size=4, num_workers=0, sampling=Dense(seconds=1.0), test_crops=3)


def four_skills(root=None, of=TemporalSkills, **settings):
    """Return a data module of 16 training, 8 validation and 8 test videos, in clips of a second."""
    return of(**({"root": root and str(root)} | VIDEOS | CLIPS | settings))
