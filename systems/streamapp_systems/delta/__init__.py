"""Tables of Delta Lake that are appended to. Import it late: the library is a large one."""

from streamapp_systems.delta.delta_table import DeltaTableFolder
from streamapp_systems.delta.table_layout import layout_mismatches
from streamapp_systems.delta.vacuum import DeltaVacuum

__all__ = ["DeltaTableFolder", "DeltaVacuum", "layout_mismatches"]
