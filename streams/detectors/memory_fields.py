"""DCGM fields of a GPU's memory, and what each tells."""

CORRECTED = ("310", "312")
"""Since driver load, and for life."""
UNCORRECTED = ("311", "313", "393")
"""Errors since driver load, errors for life, rows remapped for them."""
CORRECTED_PLACES = {"318": "DRAM", "328": "DRAM", "342": "SRAM", "344": "SRAM", "316": "SRAM", "326": "SRAM"}
"""Device memory, SRAM and L2 cache, each since driver load and for life. On Ampere and later the driver tells SRAM
and DRAM apart, before that the caches by name."""
UNCORRECTED_PLACES = {"319": "DRAM", "329": "DRAM", "343": "SRAM", "345": "SRAM", "317": "SRAM", "327": "SRAM"}
VOLATILE = ("310", "311", "316", "317", "318", "319", "342", "343")
"""They start again at driver load and GPU reset; the others never fall on one board."""
UNCORRECTED_ROWS, CORRECTED_ROWS = "393", "394"
REMAP_FAILED, REMAP_PENDING = "395", "396"
SRAM_THRESHOLD, UNREPAIRABLE = "346", "1507"
PAGES_CORRECTED, PAGES_UNCORRECTED, PAGES_PENDING = "390", "391", "392"
BANKS = {"385": 0, "386": 1, "387": 2, "388": 3, "389": 4}
"""Banks with all, many, some, few and no spare rows: steps down from all."""
LEVELS = (
    *(SRAM_THRESHOLD, PAGES_CORRECTED, PAGES_UNCORRECTED, PAGES_PENDING),
    *(UNCORRECTED_ROWS, REMAP_FAILED, REMAP_PENDING, UNREPAIRABLE),
)
"""Flags and counts that mean something by their height."""
ENERGY = "156"
"""It moves with every reading of a live GPU, and starts again at driver load."""
FIELDS = tuple(
    dict.fromkeys((*CORRECTED, *UNCORRECTED, *LEVELS, CORRECTED_ROWS, *BANKS, *CORRECTED_PLACES, *UNCORRECTED_PLACES))
)
