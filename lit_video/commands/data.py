"""Check data sets, prepare them for training, print their floors; check and prepare resume if they were stopped."""

from lit_video.commands import data_check, data_floors, data_prepare

COMMANDS = {"check": data_check, "prepare": data_prepare, "floors": data_floors}
