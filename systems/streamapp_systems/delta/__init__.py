"""Tables of Delta Lake that are appended to. Import it late: the library is a large one."""

from streamapp_systems.delta.delta_table import DeltaTableFolder
from streamapp_systems.delta.table_layout import layout_mismatches

__all__ = ["DeltaTableFolder", "layout_mismatches"]
