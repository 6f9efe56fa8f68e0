"""Files of authors and libraries as weights of these networks: reading, mapping, settings, the hub.

Loading is strict: each key of a file is used, or an error names it. Code in a file is never run.
"""
