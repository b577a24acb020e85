"""Pictures and pages: one palette, one style sheet, templates in files."""
