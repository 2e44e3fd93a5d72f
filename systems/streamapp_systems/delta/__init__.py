"""Tables of Delta Lake: outputs that are appended to, exactly once. Import it late: the library is a large one."""

from streamapp_systems.delta.delta_output import DeltaOutput, staging_folder
from streamapp_systems.delta.delta_table import DeltaTableFolder
from streamapp_systems.delta.table_layout import TableLayout, layout_mismatches

__all__ = ["DeltaOutput", "DeltaTableFolder", "TableLayout", "layout_mismatches", "staging_folder"]
