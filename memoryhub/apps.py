from django.apps import AppConfig


class MemoryhubConfig(AppConfig):
    name = "memoryhub"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "memoryhub"
