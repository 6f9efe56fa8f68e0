"""Files of authors and libraries as weights of these networks: reading, mapping, settings, the hub.

Every key of a file is used, or named in the error; code in a file is never run.
"""
