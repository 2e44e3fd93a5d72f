"""The log settings of Spark's JVMs: warnings, to standard error."""

from pathlib import Path

_LOG4J = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1}: %m%n
"""


def write_log_settings(folder: Path) -> Path:
    """Write the log settings of Spark to a folder, made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    log4j = folder.absolute() / "log4j2.properties"
    log4j.write_text(_LOG4J)
    return log4j
